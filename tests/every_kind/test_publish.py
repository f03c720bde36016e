"""All that both runs exported, pushed to a Hub with the command and read again as a user reads it:
every configuration, every row.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml

from tests.every_kind.runs import KINDS
from tests.synth.hub.hub_server import Hub
from tests.synth.hub.publisher import head, on_disk, publish, refused

pytestmark = pytest.mark.slow
READ = """
import json, sys
from datasets import get_dataset_config_names, load_dataset
names = get_dataset_config_names("me/set")
read = {name: load_dataset("me/set", name, split="train") for name in names}
print(json.dumps({name: [str(rows.features), rows.to_list()] for name, rows in read.items()}))
"""


def from_hub(code: str, environment: dict[str, str]) -> Any:
    """The last line that another process prints, which has nothing but the Hub."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def features_on_disk(run: Path, name: str) -> str:
    from datasets import Features

    shard, *_ = sorted((run / "datasets" / name).glob("*.parquet"))
    return str(Features.from_arrow_schema(pq.read_schema(shard)))


def in_folders(run: Path, kinds: list[str]) -> dict[str, list[dict[str, Any]]]:
    """Configuration on the Hub -> its rows as the folders have them: what is loaded unasked bears
    its folder's name.
    """
    from datasets import get_dataset_config_names, load_dataset

    found = {}
    for kind in kinds:
        folder = str(run / "datasets" / kind)
        names = get_dataset_config_names(folder)
        for name in names:
            alone = name == "default" or len(names) == 1
            loaded = load_dataset(folder, name, split="train", cache_dir=str(run.parent / "cache"))
            found[kind if alone else f"{kind}_{name}"] = loaded.to_list()
            if name in ("exact", "tested") and loaded.to_list() == found.get(kind) and not alone:
                del found[f"{kind}_{name}"]  # the same rows have one name
    return found


def pushed(run: Path, kinds: list[str], hub: Hub, environment: dict[str, str], *flags: str) -> str:
    """Publishes, reads everything again in another process, and compares; the card, without its
    metadata.
    """
    expected = in_folders(run, kinds)
    names = [name for name in expected if not name.endswith(("_exact", "_tested"))]
    done = publish(run, "--repo", "set", "--license", "mit", "--yes", *flags, **environment)
    assert done.returncode == 0, done.stderr
    found = from_hub(READ, environment)
    assert {name: rows for name, (_, rows) in found.items()} == expected
    for name, (features, rows) in found.items():
        assert features == features_on_disk(run, name.partition("_")[0])
        assert name not in names or f"{name} {len(rows):,} rows" in done.stdout
    assert hub.commits("me/set") == [f"Publish {', '.join(names)}"]
    assert [path for path in head(hub) if path.startswith("traces/")]
    _, metadata, card = head(hub)["README.md"].decode().split("---\n", 2)
    configs = yaml.safe_load(metadata)["configs"]
    assert {config["config_name"] for config in configs} == set(expected)
    assert [config["config_name"] for config in configs if "default" in config] == [kinds[0]]

    (code,) = re.findall(
        r"```python\n(from datasets import load_dataset  #.*?)```", card, re.DOTALL
    )
    counts = from_hub(
        f"{code}\nimport json; print(json.dumps([one.num_rows for one in ({', '.join(names)},)]))",
        environment,
    )
    assert counts == [len(found[name][1]) for name in names]
    return card


@pytest.mark.nightly
def test_all_kinds_of_a_run_like_the_quickstart(
    quickstart: Path, hub: Hub, environment: dict[str, str]
) -> None:
    card = pushed(quickstart, [kind for kind in KINDS if kind != "memory"], hub, environment)
    assert re.match(
        r"\*\*WARNING\*\* `sft`: \d+ of \d+ rows were written by scripts, not by a model "
        r"\(`include_scripted`\)\.\n",
        card,
    )
    assert re.search(
        r"^\| storefront \| \d+ \| Apache-2\.0 \| storefront-check-\d+ \| [\d,]+ \| [\d,]+ \|$",
        card,
        re.MULTILINE,
    )
    assert re.search(
        r"`critical_step`: at most an expected \d+\.\d% of the labels .* \(A/A control: \d+ of \d+ "
        r"accepted\)",
        card,
    )
    for method in (
        "reverse_task",
        "rollout",
        "reflect_retry",
        "failure_injection",
        "critical_step",
        "topology",
        "reexecuted",
    ):
        assert f"\n| {method} | " in card
    assert "arXiv 2602.03412" in card

    code = card.split("\n### attribution\n")[-1].split("```python\n")[1].split("```")[0]
    confirmed = from_hub(f"{code}\nprint(confirmed.num_rows)", environment)
    assert (
        confirmed
        == sum(
            row["label_status"] == "confirmed"
            for row in on_disk(quickstart, "attribution")
            if row["mistake_agent"]
        )
        > 0
    )


@pytest.mark.nightly
def test_all_kinds_of_imported_attempts_with_what_nobody_recorded_called_so(
    tau: Path, hub: Hub, environment: dict[str, str]
) -> None:
    to = ("--repo", "set", "--license", "mit", "--yes")
    assert "are attempts at public benchmarks (tau-bench/airline, tau-bench/retail, " in refused(
        publish(tau, *to, **environment)
    )
    assert hub.repos == {}
    card = pushed(tau, ["sft", "memory"], hub, environment, "--allow-benchmark")
    assert re.match(
        r"\*\*WARNING\*\* `sft`: (\d+) of \1 rows are attempts at public benchmarks", card
    )
    assert "recorded elsewhere, imported and exported by synth" in card
    assert "| tau_bench/retail | not known: imported | not known: imported | not recorded |" in card
    assert (
        "- **not known**: the licence of 192 trajectories imported from 3 files in the format "
        "tau_bench" in card
    )
    assert "nothing was executed here for it" in card
