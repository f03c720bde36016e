"""Exports of pairs, labelled turns, steps and tasks: seconds for a ledger of 20,000 trajectories,
and the memory that more of them take.

Run: `python -m benchmarks.label_exports`
"""

import subprocess
import sys
import tempfile
from pathlib import Path
from random import Random

import msgspec

from benchmarks.figures import Figure, Report, Target, shown
from benchmarks.machine import CpuOfOthers
from benchmarks.recorded_episodes import SYSTEM_PROMPT, TOOLS
from synth.ledger.ledger import Score, StageRef, StoredLedger
from synth.ledger.log.manifest import StageLine
from synth.schemas.canonical import trajectory_id
from synth.schemas.check import Check, RowPredicate
from synth.schemas.outcome import Outcome, Termination
from synth.schemas.task import Task
from synth.schemas.trajectory import Observation, Source, ToolCall, Trajectory, Turn
from synth.text.transcript.acts import act_digest

TURNS, PIVOT = 14, 7
FORKS = 2  # tests of an act per task: a failed trial and a continuation that passes, each
PER_TASK = 2 * FORKS + 1
_SHARD = 40  # tasks, so 200 trajectories
_ANSWER = 110  # words of 8 letters: about 17 KB in a trajectory, as in real attempts
_STAGE = StageRef("made", "key")
_EXPORT = """
import resource, sys
from time import perf_counter, process_time
from synth.exporters.folder.dataset_folder import DatasetFolder
from synth.exporters.export import export
from synth.exporters.kind import RowSettings
from synth.ledger.ledger import StoredLedger
began = perf_counter()
report = export(sys.argv[3], StoredLedger(sys.argv[1]), DatasetFolder(sys.argv[2]), RowSettings())
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(report.rows, perf_counter() - began, process_time(), peak)
"""


def write(url: str, trajectories: int) -> None:
    """A ledger of that many trajectories: per task two tests of an act, each with its failed trial
    and a continuation, and a success.
    """
    ledger, rng = StoredLedger(url, create=True), Random(11)
    ledger.begin_flow({"name": "made"})
    ledger.begin_stage(StageLine(_STAGE.stage, _STAGE.stage_key, {}, "", ()))
    for first in range(0, trajectories // PER_TASK, _SHARD):
        tasks, made, scores = [], [], []
        for number in range(first, min(first + _SHARD, trajectories // PER_TASK)):
            task = _task(number, rng)
            tasks.append(task)
            made.append(
                _trial(
                    task,
                    f"{number} solved",
                    tuple(_turn(rng, at, "look") for at in range(TURNS)),
                    solved=True,
                )
            )
            for fork in range(FORKS):
                bad, good, score = _fork(task, f"{number} {fork}", rng)
                made += [bad, good]
                scores.append(score)
        ledger.commit(_STAGE, trajectories=made, scores=scores, tasks=tasks)


def _task(number: int, rng: Random) -> Task:
    check = Check(required=(RowPredicate("orders", {"id": f"O-{number}"}),))
    difficulty = {"template": f"t{number % 500}", "notes": _words(rng, _ANSWER)}
    return Task.identified(
        env="made",
        goal=f"Look after order O-{number}.",
        seed=number,
        check=check,
        split="train",
        difficulty=difficulty,
    )


def _fork(task: Task, name: str, rng: Random) -> tuple[Trajectory, Trajectory, Score]:
    before = tuple(_turn(rng, at, "look") for at in range(PIVOT))
    worse, better = (
        (
            *before,
            _turn(rng, PIVOT, "take", what),
            *(_turn(rng, at, "look") for at in range(PIVOT + 1, TURNS)),
        )
        # step labels stand in pairs of one tool
        for what in ("goods", "order")
    )
    bad = _trial(task, f"{name} bad", worse, solved=False)
    good = _trial(
        task, f"{name} good", better, solved=True, parent_id=bad.trajectory_id, pivot_turn=PIVOT
    )
    detail = {
        **{
            "status": "confirmed",
            "control": False,
            "q_pos": 1.0,
            "n_pos": 4,
            "q_neg": 0.0,
            "n_neg": 4,
            "method": "sequential",
        },
        **{
            "stopped_at": 4,
            "weights_id": None,
            "on_policy_for": "a-model",
            "pos_ids": [good.trajectory_id],
            "neg_ids": [],
        },
        **{"alternative_from": "explorer", "alternative_authorship": "model"},
        **{"alternative_digest": act_digest(better[PIVOT]), "own": act_digest(worse[PIVOT])},
    }
    return bad, good, Score(bad.trajectory_id, "critical_step", 1.0, PIVOT, detail)


def _trial(
    task: Task, name: str, turns: tuple[Turn, ...], *, solved: bool, **lineage: object
) -> Trajectory:
    made = Trajectory(
        trajectory_id=trajectory_id(name, 0),
        slot_id=name,
        attempt=0,
        task_id=task.task_id,
        env="made",
        trial=0,
        synthesizer="rollout",
        policy="chat",
        role="explorer",
        model="a-model",
        outcome=Outcome.SUCCESS if solved else Outcome.FAILURE,
        termination=Termination.DONE,
        system_prompt=SYSTEM_PROMPT,
        tools=TOOLS,
        opening=(Observation(task.goal, Source.USER),),
        turns=turns,
        reward=float(solved),
        split="train",
    )
    return msgspec.structs.replace(made, **lineage)


def _turn(rng: Random, index: int, tool: str, what: str = "order") -> Turn:
    call = ToolCall.received(f"c{index}", tool, f'{{"order": "{what}"}}')
    seen = Observation(_words(rng, _ANSWER), call_id=call.call_id, name=tool)
    return Turn(
        index, tool_calls=(call,), observations=(seen,), state_key=f"{rng.getrandbits(64):x}"
    )


def _words(rng: Random, count: int) -> str:
    return " ".join(f"{rng.getrandbits(32):08x}" for _ in range(count))


def exported(run: Path, out: Path, kind: str) -> tuple[int, float, float, float]:
    """(rows, seconds, CPU seconds, peak memory in MB) of an export in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", _EXPORT, str(run), str(out), kind],
        check=True,
        capture_output=True,
        text=True,
    )
    rows, seconds, cpu, memory = done.stdout.split()
    return int(rows), float(seconds), float(cpu), float(memory) / 1024


def measure(few: int = 2_000, many: int = 20_000) -> Report:
    """Every kind from a ledger of `few` trajectories, and of `many`."""
    figures = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for count in (few, many):
            write(str(folder / f"run{count}"), count)
        for kind in ("dpo", "kto", "prm", "rl"):
            fewer, _, _, small = exported(folder / f"run{few}", folder / f"few-{kind}", kind)
            rows, seconds, cpu, large = exported(
                folder / f"run{many}", folder / f"many-{kind}", kind
            )
            held = (large - small) * 1024 / (rows - fewer)
            figures += [
                Figure(
                    f"{kind}: {rows:,} rows from {many:,} trajectories",
                    seconds,
                    "s",
                    Target("at most", 30),
                ),
                Figure(f"{kind}: CPU time", cpu, "s"),
                Figure(
                    f"{kind}: peak memory for {many:,} over that for {few:,}",
                    large / small,
                    "times",
                    Target("at most", 1.5),
                ),
                Figure(f"{kind}: memory per row beyond those of {few:,}", held, "KB"),
            ]
    return Report(
        "Exports of labels",
        tuple(figures),
        f"Made-up trajectories of {TURNS} turns and 17 KB, two tests of an act and a success per "
        "task; wall-clock time in a process of "
        "its own, imports of Python included.",
    )


if __name__ == "__main__":
    others = CpuOfOthers()
    sys.exit(shown(measure(), others))
