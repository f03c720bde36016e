"""Trajectories for the report's tests: a base and a retry that parts from it, with texts that a
page could trip over.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from synth.ledger import StoredLedger
from synth.ledger.ledger import StageRef
from synth.ledger.log.manifest import StageLine
from synth.report.build import pieces
from synth.report.written import MEGABYTES
from synth.schemas.check import CheckResult, SubVerdict
from synth.schemas.outcome import Fault, Outcome, Termination
from synth.schemas.task import Task
from synth.schemas.trajectory import (
    Observation,
    Planted,
    SampledBy,
    Source,
    ToolCall,
    Trajectory,
    Turn,
)

REF = StageRef("rollout", "key")
HOSTILE = (
    "</script><script>alert(1)</script><img src=x onerror=alert(2)>\u2028\u202eevil\u200f "
    "\x00\x1b[31m<!--"
)


def report(ledger: StoredLedger, command: str, megabytes: float = MEGABYTES) -> str:
    """The page as one text."""
    return "".join(pieces(ledger, command, lambda name: None, megabytes=megabytes))


def turn(index: int, order: str, **changes: Any) -> Turn:
    call = ToolCall.received(f"c{index}", "get_order", f'{{"order":"{order}"}}')
    seen = Observation(
        f'{{"order":"{order}","note":"plain words {index}"}}',
        call_id=call.call_id,
        name="get_order",
    )
    return Turn(
        **(
            {
                "index": index,
                "tool_calls": (call,),
                "observations": (seen,),
                "thought": f"look at {order}",
            }
            | changes
        )
    )


def episode(identity: str, turns: Sequence[Turn], **changes: Any) -> Trajectory:
    passed = changes.get("outcome", Outcome.SUCCESS) is Outcome.SUCCESS
    fields: dict[str, Any] = {
        "trajectory_id": identity,
        "slot_id": f"slot-{identity}",
        "attempt": 0,
        "task_id": "task-of-orders",
        "env": "desk",
        "trial": 0,
        "synthesizer": "rollout",
        "policy": "chat",
        "model": "a-model",
        "outcome": Outcome.SUCCESS,
        "termination": Termination.DONE,
        "reward": float(passed),
        "system_prompt": "Look after orders.",
        "opening": (Observation("Please look after my order.", Source.USER),),
        "turns": tuple(turns),
        "check_result": CheckResult(passed, (SubVerdict("state", passed, ("orders/1/status",)),)),
    }
    return Trajectory(**(fields | changes))


def pair() -> list[Trajectory]:
    """A failed base of four turns, and a retry that does something else in turn 2."""
    base = [turn(n, f"O-{n}") for n in range(4)]
    planted = Observation(HOSTILE, name="get_order", error=True, planted=Planted("the true answer"))
    retry = [
        *(turn(n, f"O-{n}", mask="before_pivot") for n in range(2)),
        turn(2, "O-77", observations=(planted,), sampled_by=SampledBy.INJECTED, injected="FM-1.3"),
        turn(3, "O-3", content=HOSTILE),
    ]
    failed = episode("aa11" * 6, base, outcome=Outcome.FAILURE, reward=0.0)
    follows = {
        "parent_id": "aa11" * 6,
        "pivot_turn": 2,
        "synthesizer": "reflect_retry",
        "guidance": "Mind O-77.",
        "gold_informed": True,
    }
    return [failed, episode("bb22" * 6, retry, trial=1, **follows)]


def broken(identity: str, turns: int, task: str = "task-of-orders") -> Trajectory:
    """An attempt that the server of its model ended."""
    lost = {
        "outcome": Outcome.INVALID,
        "termination": Termination.FAULT,
        "fault": Fault.MODEL,
        "fault_detail": HOSTILE,
    }
    done = [turn(n, f"O-{n}") for n in range(turns)]
    return episode(identity, done, task_id=task, reward=None, check_result=None, **lost)


def ledger_of(
    url: str, trajectories: Sequence[Trajectory], *, goal: str = "Orders.", **rows: Any
) -> StoredLedger:
    """A run that holds them, as its stage commits them; `rows` of other tables by name."""
    ledger = StoredLedger(url, create=True)
    flow: Mapping[str, Any] = {"name": "by hand"}
    ledger.begin_flow(flow, ())
    ledger.begin_stage(StageLine(REF.stage, REF.stage_key, {}))
    tasks = [
        Task(task_id=task, env="desk", goal=goal)
        for task in sorted({t.task_id for t in trajectories})
    ]
    ledger.commit(REF, trajectories=trajectories, tasks=tasks, name="all", **rows)
    return StoredLedger(url)
