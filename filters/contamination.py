"""The filter `contamination`: drops what a benchmark asks or answers: tasks that are its own, and
texts that repeat its documents.

Words are compared exactly, n at a time. What a task asks for is compared by meaning as well: in
other words, or of other entities. A benchmark in another language is not found.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from synth.filters.contamination_documents import Documents, read
from synth.filters.lineage import TaskLineage
from synth.schemas import Case, Cases, Filter, FilterSettings, Source, Trajectory, Verdict
from synth.text.similarity import text_key
from synth.topology.embeddings import SentenceEncoder

if TYPE_CHECKING:
    from synth.text.paraphrase.index import Nearest

Find = Callable[[str], "Nearest | None"]
"""A text -> the document that it says again."""


class ContaminationConfig(FilterSettings):
    """`benchmarks`: name -> files or folders with its documents; `n`: words of an n-gram; `least`:
    how many must be repeated.

    `common`: n-grams in more documents than this are set phrases. `texts`: `task` looks at goal,
    opening and users' words, `all` at what the agent wrote and was answered as well; system prompts
    and tool schemas never count. `allow`: benchmarks, as they are stamped (`name/split`), whose own
    tasks may pass. The goals and openings of stamped tasks are documents too. `meaning`: goals and
    openings that say a document again are found by their rare `words`, or by the embeddings of
    their clauses (`sentences`; extra `embed`); null = not. `unrelated`: share of pairs of documents
    that have nothing to do with each other which may reach the threshold.
    """

    benchmarks: Mapping[str, tuple[str, ...]] = {}
    n: int = Field(default=13, ge=8, le=100)
    least: int = Field(default=1, ge=1)
    common: int = Field(default=10, ge=1)
    texts: Literal["task", "all"] = "all"
    allow: tuple[str, ...] = ()
    meaning: Literal["words", "sentences"] | None = "words"
    unrelated: float = Field(default=0.01, gt=0, le=0.2)


async def contamination(cases: Cases, config: ContaminationConfig) -> Mapping[str, Verdict]:
    """Drop `benchmark` (stamped, or descended from what is), `task_identity` (a goal or opening
    that is a document), `overlap`, `paraphrase` (a goal or a person's words that say one again).

    The score is the number of repeated n-grams, of a paraphrase how far both say the same. Keep the
    others; undefined where there was nothing to compare with.
    """
    # benchmarks come as files, and as tasks of the corpus that are stamped as theirs
    documents = Documents(config.n, config.common)
    named = list(read(tuple(sorted(config.benchmarks.items()))))
    for name, text in named:
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
                named.append((stamp, text))

    nearest = _nearest(named, config)
    return {
        case.trajectory.trajectory_id: _verdict(case, config, documents, lineage, stamps, nearest)
        for case in cases
    }


def _nearest(named: Sequence[tuple[str, str]], config: ContaminationConfig) -> Find:
    """Finds the document that a text says again, each text once."""
    if config.meaning is None:
        return lambda text: None

    from synth.text.paraphrase.index import Paraphrases

    embed = SentenceEncoder() if config.meaning == "sentences" else None
    # what stands in many documents is a set phrase here, too
    counts = Counter(text_key(text) for _, text in named)
    own = [one for one in named if counts[text_key(one[1])] <= config.common]
    index = Paraphrases(own, unrelated=config.unrelated, embed=embed)

    return lru_cache(maxsize=None)(index.nearest)


def _verdict(
    case: Case,
    config: ContaminationConfig,
    documents: Documents,
    lineage: TaskLineage,
    stamps: Mapping[str, str],
    nearest: Find,
) -> Verdict:
    """By stamp, the whole text, n-grams, then by meaning; `stamps`: task -> its benchmark."""
    stamp = _stamp(case.trajectory, lineage, stamps)
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

    return _by_meaning(case, nearest) or Verdict(True, "clean", float(count))


def _stamp(trajectory: Trajectory, lineage: TaskLineage, stamps: Mapping[str, str]) -> str | None:
    """The benchmark that a trajectory is of: a retry, a branch, a task made of a benchmark's task,
    all are the benchmark's.
    """
    descended = (stamps[task] for task in lineage.tasks(trajectory) if task in stamps)
    return trajectory.benchmark or next(descended, None)


def _by_meaning(case: Case, nearest: Find) -> Verdict | None:
    """The document that is said again best, None where none is."""
    found = [one for text in _wishes(case) if (one := nearest(text)) is not None]
    if not found:
        return None

    best = max(found, key=lambda one: one.score)
    return Verdict(False, "paraphrase", best.score, {"benchmark": best.benchmark})


def _wishes(case: Case) -> list[str]:
    """What is asked for: goal, opening, and all that persons said, as one text."""
    trajectory = case.trajectory
    heard = [*trajectory.opening, *(one for turn in trajectory.turns for one in turn.observations)]
    persons = "\n".join(one.content for one in heard if one.source is Source.USER)
    return list(dict.fromkeys([*_asked(case), persons]))


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


FILTER = Filter(ContaminationConfig, contamination, scope="corpus", version=2)
