"""What a benchmark asks or answers must not be trained on: tasks that are its own, and texts that
repeat its documents.
"""

from collections.abc import Iterator, Mapping
from typing import Literal

from pydantic import Field

from synth.filters.contamination_documents import Documents, read
from synth.filters.lineage import TaskLineage
from synth.schemas.filter import Case, Cases, Filter, FilterSettings
from synth.schemas.trajectory import Source, Trajectory
from synth.schemas.verdict import Verdict
from synth.text.similarity import text_key


class ContaminationConfig(FilterSettings):
    """`benchmarks`: name -> files or folders with its documents; `n`: words of an n-gram; `least`:
    how many must be repeated.

    `common`: n-grams in more documents than this are set phrases. `texts`: `task` looks at goal,
    opening and users' words, `all` at what
    the agent wrote and was answered as well; system prompts and tool schemas never count. `allow`:
    benchmarks, as they are stamped
    (`name/split`), whose own tasks may pass. The goals and openings of stamped tasks are documents
    too.
    """

    benchmarks: Mapping[str, tuple[str, ...]] = {}
    n: int = Field(default=13, ge=8, le=100)
    least: int = Field(default=1, ge=1)
    common: int = Field(default=10, ge=1)
    texts: Literal["task", "all"] = "all"
    allow: tuple[str, ...] = ()


async def contamination(cases: Cases, config: ContaminationConfig) -> Mapping[str, Verdict]:
    """Drop `benchmark` (stamped, or descended from what is), `task_identity` (a goal or opening
    that is a document), `overlap`.

    The score is the number of repeated n-grams. Keep the others; undefined where there was nothing
    to compare with.
    """
    documents = Documents(config.n, config.common)
    for name, text in read(
        tuple((name, tuple(paths)) for name, paths in sorted(config.benchmarks.items()))
    ):
        documents.add(name, text)
    lineage = TaskLineage()
    stamps: dict[str, str] = {}
    told: set[tuple[str, bytes]] = set()
    for case in cases:
        lineage.add(case)
        stamp = case.trajectory.benchmark or (
            case.task.benchmark if case.task is not None else None
        )
        if stamp is not None:
            stamps[case.trajectory.task_id] = stamp
            for text in _asked(case):
                known = (case.trajectory.task_id, text_key(text))
                if stamp not in config.allow and known not in told:
                    told.add(known)
                    documents.add(stamp, text)
    return {
        case.trajectory.trajectory_id: _verdict(case, config, documents, lineage, stamps)
        for case in cases
    }


def _verdict(
    case: Case,
    config: ContaminationConfig,
    documents: Documents,
    lineage: TaskLineage,
    stamps: Mapping[str, str],
) -> Verdict:
    trajectory = case.trajectory
    stamp = trajectory.benchmark or next(
        (stamps[task] for task in lineage.tasks(trajectory) if task in stamps), None
    )
    if stamp is not None:
        return (
            Verdict(True, "allowed")
            if stamp in config.allow
            else Verdict(False, "benchmark", detail={"benchmark": stamp})
        )
    same = next((name for text in _asked(case) if (name := documents.same(text)) is not None), None)
    if same is not None:
        return Verdict(False, "task_identity", detail={"benchmark": same})
    if not len(documents):
        return Verdict(None, "nothing_to_compare_with")
    counts = documents.repeated(_asked(case) if config.texts == "task" else _everything(case))
    name, count = max(counts.items(), key=lambda item: (item[1], item[0]), default=("", 0))
    if count >= config.least:
        return Verdict(False, "overlap", float(count), {"benchmark": name})
    return Verdict(True, "clean", float(count))


def _asked(case: Case) -> Iterator[str]:
    """Goal and opening, each once."""
    texts = [o.content for o in case.trajectory.opening]
    if case.task is not None:
        texts.append(case.task.goal)
    yield from dict.fromkeys(text for text in texts if text)


def _everything(case: Case) -> Iterator[str]:
    yield from _asked(case)
    yield from _said(case.trajectory)


def _said(trajectory: Trajectory) -> Iterator[str]:
    for turn in trajectory.turns:
        yield from filter(None, (turn.content, turn.thought))
        yield from (call.arguments for call in turn.tool_calls)
        yield from (
            observation.content
            for observation in turn.observations
            if observation.source is not Source.ENVIRONMENT
        )


FILTER = Filter(ContaminationConfig, contamination, scope="corpus")
