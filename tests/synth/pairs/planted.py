"""Ledgers with tests of acts whose counts are written by hand."""

import json
from pathlib import Path
from typing import Any

import msgspec

from synth.ledger.ledger import Decision, Score, StageRef, StoredLedger
from synth.ledger.log.manifest import StageLine
from synth.schemas.canonical import trajectory_id
from synth.schemas.outcome import Outcome
from synth.schemas.task import Task
from synth.schemas.trajectory import Observation, Source, ToolCall, Trajectory, Turn
from synth.text.transcript.acts import act_digest
from tests.trajectories import make_trajectory

STUDENT = "student"
STAGE = "collected"


def act(index: int, tool: str = "look", **fields: Any) -> Turn:
    """A call with an argument that the opening names, so that its provenance is in order."""
    arguments = fields.pop("arguments", {"what": "lamp"})
    call = ToolCall.received(f"c{index}", tool, json.dumps(arguments))
    seen = fields.pop("observations", (Observation("a lamp", call_id=call.call_id, name=tool),))
    return Turn(
        index=index, tool_calls=(call,), observations=seen, state_key=f"s{index}-{tool}", **fields
    )


def run(slot: str, *turns: Turn, solved: bool, task: str = "task", **fields: Any) -> Trajectory:
    outcome = Outcome.SUCCESS if solved else Outcome.FAILURE
    given = {
        "model": STUDENT,
        "policy": "chat",
        "role": "explorer",
        "outcome": outcome,
        "reward": float(solved),
        "check_result": None,
        "tools": (),
        "opening": (Observation("Bring the lamp, or the chair.", Source.USER),),
        **fields,
    }
    return msgspec.structs.replace(make_trajectory(slot, **given | {"task_id": task}), turns=turns)


def accepted(base: Trajectory, turn: int, better: Trajectory, **detail: Any) -> Score:
    """An accepted test of four continuations a side; `detail` overrides."""
    known = {
        "status": "confirmed",
        "control": False,
        "q_pos": 1.0,
        "n_pos": 4,
        "q_neg": 0.0,
        "n_neg": 4,
        "method": "sequential",
        "stopped_at": 4,
        "weights_id": None,
        "on_policy_for": STUDENT,
        "pos_ids": [better.trajectory_id],
        "neg_ids": [],
        "q_confirm": 0.75,
        "confirm_pos": 3,
        "confirm_neg": 0,
        "confirm_pos_ids": [f"pos{n}" for n in range(4)],
        "confirm_neg_ids": [f"neg{n}" for n in range(4)],
        "alternative_from": "explorer",
        "alternative_authorship": "model",
        "alternative_digest": act_digest(better.turns[turn]),
        "own": act_digest(base.turns[turn]),
    }
    return Score(base.trajectory_id, "critical_step", 1.0, turn, {**known, **detail})


def valued(
    base: Trajectory,
    turn: int,
    successes: int,
    n: int,
    rate: float | None = None,
    of: Trajectory | None = None,
) -> Score:
    """An act's success rate by path counts: the own one's, or what another trajectory (`of`) did
    there.
    """
    own = act_digest(base.turns[turn])
    return Score(
        base.trajectory_id,
        "step_value",
        rate,
        turn,
        {
            "act": act_digest((of or base).turns[turn]),
            "own": own,
            "successes": successes,
            "n": n,
        },
    )


def fork(
    name: str, better: str = "take", worse: str = "drop", task: str = "task", **fields: Any
) -> tuple[Trajectory, Trajectory]:
    """A failed trial that does `worse` in turn 1, and a continuation that does `better` there and
    passes.
    """
    base = run(f"base {name}", act(0), act(1, worse), solved=False, task=task, **fields)
    other = run(
        f"good {name}",
        act(0),
        act(1, better),
        solved=True,
        task=task,
        parent_id=base.trajectory_id,
        pivot_turn=1,
        **fields,
    )
    return base, other


def planted(
    folder: Path,
    trajectories: list[Trajectory],
    scores: list[Score],
    *,
    tasks: list[Task] | None = None,
    decisions: list[Decision] | None = None,
    apart: list[Trajectory] | None = None,
) -> StoredLedger:
    """`apart`: trajectories that the flow does not see."""
    ledger = StoredLedger(str(folder / "run"), create=True)
    ledger.begin_flow({"name": "planted"})
    ledger.begin_stage(StageLine(STAGE, "key", {}, "", ()))
    ledger.commit(
        StageRef(STAGE, "key"),
        trajectories=trajectories,
        scores=scores,
        tasks=tasks or [],
        decisions=decisions or [],
    )
    if apart:
        ledger.commit(StageRef(STAGE, "apart"), trajectories=apart)
    ledger.refresh()
    return ledger


def identity(slot: str) -> str:
    return trajectory_id(slot, 0)


def fork_of_one_tool(name: str, **fields: Any) -> tuple[Trajectory, Trajectory]:
    """As `fork`, with the same tool on both sides, since step labels stand in pairs of one tool."""
    base, other = fork(name, **fields)
    worse = act(1, "take", arguments={"what": "chair"})
    return msgspec.structs.replace(base, turns=(base.turns[0], worse)), other
