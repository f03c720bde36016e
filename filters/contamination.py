"""The filter `contamination`: drops what a benchmark asks or answers: tasks that are its own, and
texts that repeat its documents.

Words are compared exactly, n at a time: a benchmark in other words, or in another language, is not
found.
"""

from collections.abc import Iterator, Mapping
from typing import Literal

from pydantic import Field

from synth.filters.contamination_documents import Documents, read
from synth.filters.lineage import TaskLineage
from synth.schemas import Case, Cases, Filter, FilterSettings, Source, Verdict
from synth.text.similarity import text_key


class ContaminationConfig(FilterSettings):
    """`benchmarks`: name -> files or folders with its documents; `n`: words of an n-gram; `least`:
    how many must be repeated.

    `common`: n-grams in more documents than this are set phrases. `texts`: `task` looks at goal,
    opening and users' words, `all` at what the agent wrote and was answered as well; system prompts
    and tool schemas never count. `allow`: benchmarks, as they are stamped (`name/split`), whose own
    tasks may pass. The goals and openings of stamped tasks are documents too.
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
    # benchmarks come as files, and as tasks of the corpus that are stamped as theirs
    documents = Documents(config.n, config.common)
    for name, text in read(tuple(sorted(config.benchmarks.items()))):
        documents.add(name, text)

    lineage = TaskLineage()
    stamps: dict[str, str] = {}
    told: set[tuple[str, bytes]] = set()

    for case in cases:
        lineage.add(case)
        task_id = case.trajectory.task_id
        stamp = case.trajectory.benchmark or (case.task.benchmark if case.task else None)

        if stamp is None:
            continue

        # an allowed benchmark's own words are not looked for: they may stand in training data
        stamps[task_id] = stamp
        for text in _asked(case) if stamp not in config.allow else ():
            known = (task_id, text_key(text))
            if known not in told:
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
    """By stamp, then by the whole text, then by n-grams; `stamps`: task -> its benchmark."""
    # a retry, a branch, a task made of a benchmark's task: all are the benchmark's
    descended = (stamps[task] for task in lineage.tasks(case.trajectory) if task in stamps)
    stamp = case.trajectory.benchmark or next(descended, None)
    if stamp in config.allow:
        return Verdict(True, "allowed")

    if stamp is not None:
        return Verdict(False, "benchmark", detail={"benchmark": stamp})

    same = next(filter(None, map(documents.same, _asked(case))), None)
    if same is not None:
        return Verdict(False, "task_identity", detail={"benchmark": same})
    if not len(documents):
        return Verdict(None, "nothing_to_compare_with")

    counts = documents.repeated([*_asked(case), *(_said(case) if config.texts == "all" else ())])

    # the benchmark that most is repeated of; by name where two are equal
    count, name = max(((count, name) for name, count in counts.items()), default=(0, ""))
    if count >= config.least:
        return Verdict(False, "overlap", float(count), {"benchmark": name})

    return Verdict(True, "clean", float(count))


def _asked(case: Case) -> list[str]:
    """Goal and opening, each once: what a task asks, and a benchmark's own words."""
    texts = [observation.content for observation in case.trajectory.opening]
    texts += [case.task.goal] if case.task is not None else []
    return list(filter(None, dict.fromkeys(texts)))


def _said(case: Case) -> Iterator[str]:
    """What the agent wrote and was answered; what an environment says in the role of a system is
    nobody's text.
    """
    for turn in case.trajectory.turns:
        yield from filter(None, (turn.content, turn.thought))
        yield from (call.arguments for call in turn.tool_calls)
        answers = (one for one in turn.observations if one.source is not Source.ENVIRONMENT)
        yield from (answer.content for answer in answers)


FILTER = Filter(ContaminationConfig, contamination, scope="corpus")
