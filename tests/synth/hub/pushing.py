"""Publications of so many rows, pushed to a Hub that may misbehave."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from datasets import load_dataset

from synth.hub.client import Hub as Client
from synth.hub.publication import File, Publication
from synth.hub.push import Pushed, push
from synth.ledger.log.verify_written import CARD
from synth.models.backoff import Backoff
from tests.synth.hub.hub_server import TOKEN, Hub

REPO = "me/set"
COMMIT = "POST /api/datasets/me/set/commit"


def publication(folder: Path, *rows: int) -> Publication:
    """A shard for each number, with that many rows."""
    shards = []
    for at, count in enumerate(rows):
        path = folder / f"train-{count}-{at}.parquet"
        pq.write_table(pa.table({"x": list(range(count))}), path)
        shards.append(File(f"sft/{path.name}", path))
    names = "".join(f"    - {file.path}\n" for file in shards)
    card = (
        "---\nlicense: mit\nconfigs:\n- config_name: sft\n  data_files:\n  - split: train\n  "
        f"  path:\n{names}---\n{sum(rows)} rows\n"
    )
    return Publication(
        tuple(shards),
        (File("traces/a.jsonl", b'{"type": "session"}\n'),),
        File(CARD, card.encode()),
        {"sft": sum(rows)},
        {"license": "mit"},
    )


def pushed(
    hub: Hub, wanted: Publication, said: list[str] | None = None, retries: int = 4, **given: Any
) -> Pushed:
    say: Callable[[str], None] = (said if said is not None else []).append
    client = Client(TOKEN, say, Backoff(max_retries=retries, base_s=0.01, cap_s=0.05), hub.url)
    return push(client, REPO, wanted, **{"public": False, "overwrite": False, **given})


def loaded(hub: Hub, folder: Path) -> int:
    """Rows of `sft` as somebody who comes by now reads it: a checkout of main."""
    for path, blob in hub.repos[REPO].commits[-1].items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(blob)
    return int(
        load_dataset(str(folder), "sft", split="train", cache_dir=str(folder / "cache")).num_rows
    )
