"""Logs of another harness done again in its world: what is the same becomes a trial of that world,
what is not is counted with its reason, and from there acts are tested.
"""

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from synth.api.curation import confirm
from synth.boundary import FaultError
from synth.engine.cost import spent
from synth.envs.registry import LOGGED
from synth.flows.own.bindings import Bindings
from synth.flows.proposal.confirming import confirming
from synth.ledger.ledger import StageRef, StoredLedger
from synth.schemas.errors import ConfigError
from synth.schemas.flow import Flow
from synth.schemas.outcome import Fault, Outcome, Termination
from synth.schemas.task import Origin, Task
from synth.schemas.text.messages import to_messages
from synth.schemas.trajectory import (
    Observation,
    SampledBy,
    Source,
    ToolCall,
    Trajectory,
    Turn,
    Usage,
)
from synth.synthesizers.relive import logged_in
from synth.synthesizers.sibling_acts import siblings
from tests.flow_files import run_flow
from tests.synth.models.chat_server import ChatServer
from tests.synth.models.user_brains import said
from tests.synth.rollout.free_talk import BYE, GREETING, NAME, task

GUEST = {"model": "test-user", "max_retries": 0}


@pytest.fixture(autouse=True)
def _known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LOGGED, "tavern", NAME)


def user(words: str) -> Observation:
    return Observation(words, Source.USER)


def log(
    drink: str, number: int, served: str | None = None, wanted: str = "tea"
) -> tuple[Task, Trajectory]:
    """A guest who is served something; `served`: what the log says was answered."""
    logged = Task.identified(env="tavern/evening", goal=wanted, origin=Origin.IMPORT)
    call = ToolCall.received("c", "serve", json.dumps({"drink": drink}))
    answer = Observation(served or f"served {drink}", call_id="c", name="serve")
    turns = (
        Turn(0, GREETING, (), (user("Tea."),), sampled_by=SampledBy.CANNED, mask="greeting"),
        Turn(1, None, (call,), (answer,)),
        Turn(2, "Here it is.", (), (user(f"Thanks. {BYE}"),)),
    )
    passed = drink == wanted
    trial = Trajectory(
        trajectory_id=f"log {number}",
        slot_id=f"log {number}",
        attempt=0,
        task_id=logged.task_id,
        env=logged.env,
        trial=number,
        synthesizer="import",
        policy="theirs",
        outcome=Outcome.SUCCESS if passed else Outcome.FAILURE,
        termination=Termination.DONE,
        reward=float(passed),
        turns=turns,
    )
    return logged, trial


def imported(folder: Path, *logs: tuple[Task, Trajectory]) -> StoredLedger:
    ledger = StoredLedger(str(folder / "run"), create=True)
    tasks = {one.task_id: one for one, _ in logs}
    trials = [trial for _, trial in logs]
    ledger.commit(StageRef("import", "import"), tasks=list(tasks.values()), trajectories=trials)
    return ledger


def flow(**more: Any) -> Flow:
    content = {"name": "ours", "env": {"name": NAME, "tasks": 0}, "stages": [{"relive": {}}]}
    return Flow.model_validate({**content, **more})


def test_what_is_the_same_is_a_trial_of_the_world_and_the_rest_is_counted(tmp_path: Path) -> None:
    ledger = imported(tmp_path, log("tea", 0), log("beer", 1), log("beer", 2, served="no beer"))
    _, reports, _ = run_flow(flow(), ledger.storage.url)
    report = reports["relive"]
    assert (report["attempted"], report["verified"]) == (3, 2)
    assert report["rejected"] == {"other_answer": 1}
    found = [one for one in StoredLedger(ledger.storage.url).trajectories() if one.env == NAME]
    assert sorted(one.outcome.value for one in found) == ["failure", "success"]
    assert {one.task_id for one in found} == {task("tea").task_id}
    for one in found:
        spoken = [line["content"] for line in to_messages(one) if line["role"] == "user"]
        assert spoken == ["Tea.", f"Thanks. {BYE}"]
        assert one.tools
        assert one.turns[1].state_key in ("tea", "beer")
    _, reports, _ = run_flow(flow(), ledger.storage.url)
    assert reports["relive"] == report
    found = [one for one in StoredLedger(ledger.storage.url).trajectories() if one.env == NAME]
    assert len(found) == 2


def test_only_what_was_done_again_suggests_acts(tmp_path: Path) -> None:
    ledger = imported(tmp_path, log("tea", 0), log("beer", 1), log("beer", 2, served="no beer"))
    assert siblings(ledger) == {"log 1": {1: ["log 0"]}}, "beer, where tea passed"
    run_flow(flow(), ledger.storage.url)
    assert siblings(StoredLedger(ledger.storage.url)) == {"again log 1": {1: ["again log 0"]}}


def test_what_a_log_has_cost_was_not_paid_here(tmp_path: Path) -> None:
    logged, trial = log("tea", 0)
    paid = Usage(100, 50, 0, 2, 1.0)
    turns = tuple(replace(turn, usage=Usage(50, 25, 0, 1, 0.5)) for turn in trial.turns)
    dear = replace(trial, turns=turns, totals=paid, user_totals=paid)
    ledger = imported(tmp_path, (logged, dear))
    run_flow(flow(), ledger.storage.url)
    assert sorted(one.env for one in StoredLedger(ledger.storage.url).trajectories()) == [
        "tavern/evening",
        NAME,
    ]
    assert spent(StoredLedger(ledger.storage.url)) == Usage()


def test_a_log_that_met_a_fault_is_tried_again_by_the_next_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import tests.synth.rollout.free_talk as there

    asked = []

    async def late(logged: Task, trial: Trajectory) -> Any:
        asked.append(trial.trajectory_id)
        if len(asked) == 1:
            raise FaultError(Fault.TIMEOUT, "too late")
        return await relive(logged, trial)

    relive = there.WORLD.relive
    assert relive is not None
    monkeypatch.setattr(there, "WORLD", dataclasses.replace(there.WORLD, relive=late))
    ledger = imported(tmp_path, log("tea", 0))
    run_flow(flow(), ledger.storage.url)
    assert [one.env for one in StoredLedger(ledger.storage.url).trajectories()] == [
        "tavern/evening"
    ]
    _, reports, _ = run_flow(flow(), ledger.storage.url)
    assert (reports["relive"]["verified"], asked) == (1, ["log 0"] * 2)


@pytest.mark.parametrize("settings", [{}, {"kinds": ["dpo", "rl"]}])
def test_no_dataset_holds_a_log_and_what_was_done_again_of_it(
    tmp_path: Path, settings: dict[str, Any]
) -> None:
    ledger = imported(tmp_path, log("tea", 0))
    stages = [{"relive": {}}, {"export": settings}]
    with pytest.raises(ConfigError, match=r"beside its log, so (sft|rl) would hold"):
        run_flow(flow(stages=stages), ledger.storage.url)


def test_confirm_does_it_first_and_asks_for_the_user(tmp_path: Path) -> None:
    ledger = imported(tmp_path, log("tea", 0), log("beer", 1))
    explorer = {"models.explorer.policy": "random", "env.name": NAME}
    with pytest.raises(ConfigError, match=r"models\.user\.model"):
        confirming(ledger, Bindings(), explorer)
    made = confirming(ledger, Bindings(), {**explorer, "models.user.model": "m"})
    assert [stage.name for stage in made.stages] == ["relive", "critical_step", "filter", "export"]
    assert made.env is not None
    assert made.env.name == NAME


def test_a_world_that_knows_no_logs_says_so(tmp_path: Path) -> None:
    ledger = imported(tmp_path, log("tea", 0))
    with pytest.raises(ConfigError, match="'echo' does no logs"):
        run_flow(flow(env={"name": "echo", "tasks": 0}), ledger.storage.url)


def test_an_environment_names_its_harness_before_the_slash() -> None:
    assert logged_in("tavern/evening") == NAME
    assert logged_in("tavern") is None, "the world itself"
    assert logged_in("inn/evening") is None


@pytest.mark.slow
def test_acts_of_logs_are_confirmed_with_a_model_as_the_user(tmp_path: Path) -> None:
    """Whoever plays on tells the guest that it is done, and the guest leaves: the drink decides."""
    drinks = ("tea", "milk", "water")
    served = [(one, wanted) for wanted in drinks for one in (wanted, "beer")]
    logs = (log(one, at, wanted=wanted) for at, (one, wanted) in enumerate(served))
    ledger = imported(tmp_path, *logs)
    with (
        ChatServer(lambda body: said(f"Thanks. {BYE}")) as guest,
        ChatServer(lambda body: said("Here it is.")) as waiter,
    ):
        given = {
            "env.name": NAME,
            "models.explorer": {"model": "waiter", "base_url": waiter.url},
            "models.user": {**GUEST, "base_url": guest.url},
            "stages.critical_step.limits": {"max_turns": 6},
        }
        result = confirm(ledger.storage.url, set=given, quiet=True)
        assert waiter.counts()["total"] > 0
    assert result.reports["relive"]["verified"] == 6
    assert result.reports["critical_step"]["verified"] == len(drinks)
