"""What labels and values say is what the trajectories that they name came to."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from synth.ledger import StoredLedger
from tests.flow_files import run_flow
from tests.synthesizers.fork_flows import fork_flow, outcomes, rows
from tests.synthesizers.fork_world import dice


@pytest.fixture(autouse=True)
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("SYNTH_STATE_DIR", str(tmp_path / "state"))
    dice.opened, dice.thrown, dice.dies_at = 0, [], None
    yield
    dice.dies_at = None


@pytest.mark.slow
def test_every_share_of_a_label_can_be_counted_again_from_the_trajectories_that_it_names(
    tmp_path: Path,
) -> None:
    url = str(tmp_path / "run")
    run_flow(fork_flow({"proposals": {"from": "all"}}, tasks=12, left=30, right=70), url)
    known = outcomes(url)
    base = {t.trajectory_id for t in StoredLedger(url).trajectories() if t.synthesizer == "rollout"}
    assert set(known.values()) == {"success", "failure"}
    labels = rows(url)
    for subject, _, value, detail in labels:
        for side in ("pos", "neg"):
            ids = detail[f"{side}_ids"]
            assert subject in base
            assert not base & set(ids), "the recorded trial is not counted"
            assert len(set(ids)) == len(ids) == detail[f"n_{side}"]
            assert detail[f"q_{side}"] == sum(known[i] == "success" for i in ids) / len(ids)
        assert value == detail["gap"]
        fresh = [detail.get(f"confirm_{side}_ids") for side in ("pos", "neg")]
        assert (fresh != [None, None]) is detail["accepted"]
        if detail["accepted"]:
            pos, neg = (sum(known[i] == "success" for i in ids) for ids in fresh)
            assert (detail["confirm_pos"], detail["confirm_neg"]) == (pos, neg)
            assert [len(set(ids)) for ids in fresh] == [4, 4]
            assert detail["q_confirm"] == (pos - neg) / 4
            assert not {*fresh[0], *fresh[1]} & {*detail["pos_ids"], *detail["neg_ids"]}
    for subject, turn, value, detail in rows(url, "step_value"):
        assert 0 <= value <= 1
        sides = [
            d[f"{side}_ids"]
            for s, t, _, d in labels
            if (s, t) == (subject, turn)
            for side in _sides_of(d, detail["act"])
        ]
        counted = {identity for ids in sides for identity in ids}
        assert (detail["n"], detail["successes"]) == (
            len(counted),
            sum(known[i] == "success" for i in counted),
        )


def _sides_of(label: Mapping[str, Any], act: str) -> list[str]:
    # the other side of an A/A test is the same act, and counts in no value
    other = None if label["control"] else label["alternative_digest"]
    return [side for side, digest in (("pos", other), ("neg", label["own"])) if digest == act]
