"""Skill texts are published beside the rows that end their chains, and the code on the card reads
both.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from synth.flows.curate import curate
from synth.ledger.ledger import Score, StageRef, StoredLedger
from synth.stats.pdi import INDEX, SKILL
from tests.flow_files import echo_flow, run_flow
from tests.synth.exporters.solved import trajectory
from tests.synth.hub.hub_server import Hub
from tests.synth.hub.publisher import SENT, head, publish

pytestmark = pytest.mark.slow
KEY = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bD1fH3jL5"


def with_skills(run: Path) -> Path:
    """Two imported successes, one of them the end of a chain that a model has distilled."""
    ledger = StoredLedger(str(run), create=True)
    one, other = trajectory("a"), trajectory("b", system_prompt="Be quick.")
    text = {"text": f"Read every page first; never say {KEY}."}
    scores = [
        Score(one.trajectory_id, SKILL, 1.0, None, text),
        Score(one.trajectory_id, INDEX, 0.25, None, {}),
    ]
    ledger.commit(StageRef("import", "import"), trajectories=[one, other], scores=scores)
    run_flow(
        echo_flow(
            env=None, models={}, stages=[{"filter": ["solved"]}, {"export": {"kinds": ["sft"]}}]
        ),
        str(run),
        curate,
    )
    return run


@pytest.mark.nightly
def test_skill_texts_go_out_as_a_file_that_the_card_names_and_loads(
    tmp_path: Path, hub: Hub, environment: dict[str, str]
) -> None:
    done = publish(with_skills(tmp_path / "run"), *SENT, **environment)
    assert done.returncode == 0, done.stderr
    blob = (tmp_path / "run/datasets/sft/skills.jsonl").read_bytes()
    assert f"skills      sft/skills.jsonl  {len(blob):,} bytes" in done.stdout
    assert head(hub)["sft/skills.jsonl"] == blob
    assert KEY.encode() not in b"".join(head(hub).values())
    assert "sft/skills.jsonl" in json.loads(head(hub)["publication.json"])["files"]
    card = head(hub)["README.md"].decode()
    assert (
        "`sft/skills.jsonl`: skill texts that a model distilled from the chains that 1 "
        "trajectories of `sft` end" in card
    )

    (code,) = re.findall(
        r"```python\n(from datasets import load_dataset  #.*?)```", card, re.DOTALL
    )
    code += "\nimport json; print(json.dumps([sft.num_rows, sft_skills.to_list()]))"
    read = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=90,
    )
    assert read.returncode == 0, read.stderr
    rows, skills = json.loads(read.stdout.splitlines()[-1])
    expected = {
        "trajectory_id": "a",
        "task_id": "k",
        "skill": "Read every page first; never say [REDACTED:github_token].",
        "pdi_index": 0.25,
    }
    assert (rows, skills) == (2, [expected])

    assert "nothing to send" in publish(tmp_path / "run", *SENT, **environment).stdout
