"""Every confirmed label stands up to a verifier of its own, which uses the ledger and the world
alone; a label that is wrong does not.
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from synth.ledger.ledger import StoredLedger
from synth.schemas.trajectory import Trajectory
from tests.synthesizers.failures.flows_of_failures import (
    WAVERING,
    injected,
    injection_flow,
    scores,
)
from tests.synthesizers.failures.verify_labels import Labelled, problems, verified

pytestmark = pytest.mark.slow

SURE = {"policy": "expert", "profiles": "correct"}
ERRING = {
    **WAVERING,
    "of": [{**WAVERING["of"][0], "weight": 0.85}, {**WAVERING["of"][1], "weight": 0.15}],
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Labels by the sequential test, and others by deterministic flips."""
    folder = tmp_path_factory.mktemp("verified")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SYNTH_STATE_DIR", str(folder / "state"))
        for name, policy in (("wavering", WAVERING), ("sure", SURE)):
            injected(
                folder / name,
                injection_flow({"per_task": 4, "repairs": 1}, models={"explorer": policy}),
            )
        shop = {"name": "storefront", "tasks": 6}
        injected(
            folder / "erring",
            injection_flow({"per_task": 6}, {"trials": 6}, env=shop, models={"explorer": ERRING}),
        )
    return folder


def test_a_run_that_fails_by_chance_after_a_harmless_mistake_is_weak(run: Path) -> None:
    """15 % of its turns are random, so many runs fail of themselves: the counts of both sides show
    which.
    """
    labels = scores(run / "erring", "injection")
    weak = [row["detail"] for row in labels if row["value"] == 0]
    assert weak
    assert {row["detail"]["status"] for row in labels if row["value"] == 1} == {"confirmed"}
    for detail in weak:
        successes = [round(detail[f"q_{side}"] * detail[f"n_{side}"]) for side in ("pos", "neg")]
        assert detail["status"] == "weak"
        assert successes[0] - successes[1] <= {2: 0, 4: 1, 6: 2, 8: 4}[detail["stopped_at"]]
    _, wrong = asyncio.run(verified(str(run / "erring")))
    assert wrong == {}


@pytest.mark.parametrize(
    ("name", "method"), [("wavering", "sequential"), ("sure", "flip_deterministic")]
)
def test_all_confirmed_labels_of_a_small_run_are_right(run: Path, name: str, method: str) -> None:
    found, wrong = asyncio.run(verified(str(run / name)))
    assert len(found.labels) >= 2
    assert {row["detail"]["method"] for row in found.labels} == {method}
    assert wrong == {}


def _other(trajectory: Trajectory, **fields: Any) -> Trajectory:
    return msgspec.structs.replace(trajectory, **fields)


def _swapped(found: Labelled, row: dict[str, Any]) -> None:
    row["detail"]["pos_ids"], row["detail"]["neg_ids"] = (
        row["detail"]["neg_ids"],
        row["detail"]["pos_ids"],
    )


def _rate(found: Labelled, row: dict[str, Any]) -> None:
    row["detail"]["q_pos"] -= 0.25


def _fewer(found: Labelled, row: dict[str, Any]) -> None:
    for side in ("pos", "neg"):
        row["detail"][f"{side}_ids"] = row["detail"][f"{side}_ids"][:2]
        row["detail"][f"n_{side}"] = 2
    row["detail"]["stopped_at"] = 2


def _selected(found: Labelled, row: dict[str, Any]) -> None:
    row["detail"]["neg_ids"][0] = row["subject_id"]


def _passed(found: Labelled, row: dict[str, Any]) -> None:
    identity = row["detail"]["neg_ids"][0]
    found.trajectories[identity] = _other(found.trajectories[identity], outcome="success")


def _another_turn(found: Labelled, row: dict[str, Any]) -> None:
    row["turn"] -= 1


def _as_it_was(found: Labelled, row: dict[str, Any]) -> None:
    row["detail"]["injected"] = row["detail"]["original"]


def _blamed_wrongly(found: Labelled, row: dict[str, Any]) -> None:
    row["detail"]["side"] = "environment"


def _trainable(found: Labelled, row: dict[str, Any]) -> None:
    run = found.trajectories[row["subject_id"]]
    turns = (
        *run.turns[: row["turn"]],
        msgspec.structs.replace(run.turns[row["turn"]], mask=None),
        *run.turns[row["turn"] + 1 :],
    )
    found.trajectories[run.trajectory_id] = _other(run, turns=turns)


def _no_effect(found: Labelled, row: dict[str, Any]) -> None:
    run, twin = (
        found.trajectories[row["subject_id"]],
        found.trajectories[row["detail"]["clean_twin_id"]],
    )
    clean, turn = twin.turns[row["turn"]], run.turns[row["turn"]]
    same = msgspec.structs.replace(turn, observations=clean.observations, state_key=clean.state_key)
    found.trajectories[run.trajectory_id] = _other(
        run, turns=(*run.turns[: row["turn"]], same, *run.turns[row["turn"] + 1 :])
    )


SPOILS = (
    _swapped,
    _rate,
    _fewer,
    _selected,
    _passed,
    _another_turn,
    _as_it_was,
    _blamed_wrongly,
    _trainable,
    _no_effect,
)


@pytest.mark.parametrize("spoil", SPOILS)
def test_the_verifier_catches_a_label_that_is_wrong(
    run: Path, spoil: Callable[[Labelled, dict[str, Any]], None]
) -> None:
    found = Labelled(StoredLedger(str(run / "wavering")))
    row = next(row for row in found.labels if row["turn"] > 0 and row["metric"] == "injection")
    assert asyncio.run(problems(found, row)) == []
    spoil(found, row)
    assert asyncio.run(problems(found, row)) != []


@pytest.mark.nightly
@pytest.mark.slow
def test_150_injected_failures_over_8_modes_are_confirmed_and_verified_from_the_ledger(
    tmp_path: Path,
) -> None:
    flow = injection_flow(
        {"per_task": 8, "round": 160, "repairs": 1},
        {"trials": 4},
        env={"name": "storefront", "tasks": 130},
        models={"explorer": WAVERING},
    )
    report = injected(tmp_path / "run", flow)
    found, wrong = asyncio.run(verified(str(tmp_path / "run")))
    injections = [row for row in found.labels if row["metric"] == "injection"]
    modes = Counter(row["detail"]["mode"] for row in injections)
    print(f"{len(injections)} injections confirmed: {dict(modes)}; {report['also']}")
    assert wrong == {}
    assert len(found.labels) == report["verified"]
    assert len(injections) >= 150
    assert len(modes) >= 8
