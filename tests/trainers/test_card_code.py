"""The code that the card on the Hub prints, run as it stands there: it loads the rows from the Hub,
and trains on them.
"""

import math
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from synth.schemas.flow import Flow
from tests.flow_files import run_flow
from tests.rounds import rounds
from tests.synth.exporters.test_training import tiny_model
from tests.synth.hub.hub_server import TOKEN, Hub
from tests.synth.hub.publisher import SENT, head, on_disk, publish
from tests.trainers.conftest import STOREFRONT
from tests.trainers.printed import ROOT

pytestmark = pytest.mark.slow
KINDS = ["sft", "dpo", "kto"]
RUN = """
import sys
from pathlib import Path
from tests.trainers.printed import trained
trained(sys.stdin.read(), Path(sys.argv[1]), Path("data"), **eval(sys.argv[2]))
"""


@pytest.fixture(scope="module")
def published(
    _alone: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Path, str, dict[str, str]]]:
    """(run, card, environment of a user whose Hub holds it)."""
    folder, hub = tmp_path_factory.mktemp("published"), Hub()
    stages = [*STOREFRONT["stages"], {"export": {"kinds": KINDS, "include_scripted": True}}]
    run_flow(Flow.model_validate(STOREFRONT | {"stages": stages}), str(folder / "run"))
    environment = {
        "HF_ENDPOINT": hub.url,
        "HF_HUB_DISABLE_XET": "1",
        "HF_HUB_OFFLINE": "0",
        "HF_HOME": str(folder / "hf"),
        "HF_DATASETS_CACHE": str(folder / "hf" / "datasets"),
        "HF_TOKEN": TOKEN,
        "PYTHONPATH": str(ROOT),
        "OMP_NUM_THREADS": "1",  # as in _alone
    }
    done = publish(folder / "run", *SENT, **environment)
    assert done.returncode == 0, done.stderr
    yield folder / "run", head(hub)["README.md"].decode(), environment
    hub.close()


@pytest.fixture(scope="module")
def small(
    published: tuple[Path, str, dict[str, str]], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A student whose tokenizer has seen the rows."""
    folder, rows = tmp_path_factory.mktemp("small"), on_disk(published[0], "sft")[:8]
    tiny_model(folder, [str(row["messages"]) + str(row["tools"]) for row in rows], vocabulary=2000)
    return folder


def said(
    published: tuple[Path, str, dict[str, str]],
    kind: str,
    student: Path,
    folder: Path,
    **settings: Any,
) -> str:
    """What the code under the kind's heading prints, in a process of its own."""
    training = published[1].split("\n## Training\n", 1)[1].split("\n## ", 1)[0]
    (code,) = re.findall(
        r"```python\n(.*?)```",
        training.split(f"\n### {kind}\n", 1)[1].split("\n### ", 1)[0],
        re.DOTALL,
    )
    assert f'load_dataset("me/set", "{kind}", split="train")' in code
    command = [sys.executable, "-c", RUN, str(student), repr(settings)]
    done = subprocess.run(
        command,
        input=code,
        env=os.environ | published[2],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.mark.parametrize("kind", rounds("dpo", nightly=["sft", "kto"]))
def test_the_code_for_a_kind_loads_it_from_the_hub_and_trains(
    kind: str, published: tuple[Path, str, dict[str, str]], small: Path, tmp_path: Path
) -> None:
    few = {} if kind == "sft" else {"per_device_train_batch_size": 2}  # sft's code says 1 itself
    out = said(published, kind, small, tmp_path, max_steps=2, learning_rate=0.01, **few)
    losses = [float(loss) for loss in re.findall(r"'loss': '?([^',]+)", out)]
    assert len(losses) == 2
    assert all(math.isfinite(loss) and loss > 0 for loss in losses)
    if kind == "dpo":
        assert losses[0] == pytest.approx(math.log(2), abs=0.01), (
            "at first the policy is its own reference"
        )
