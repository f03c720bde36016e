"""What a run holds, as far as a proposal depends on it: verdicts, trials, tools, models, worlds."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

import msgspec

from synth.engine.numbers import counted_noun
from synth.flows.own.bindings import Bindings
from synth.ledger.ledger import StoredLedger
from synth.ledger.typed import read
from synth.ledger.views import connect
from synth.pairs.experiments import CRITICAL_STEP, INJECTION, REPAIR, Experiment
from synth.schemas import ConfigError, Outcome, Trajectory
from synth.set_aside import SetAside

_TESTS = (CRITICAL_STEP, REPAIR, INJECTION)
_MOST_NAMED = 3


class Survey(msgspec.Struct, frozen=True):
    """Counts of trajectories, by outcome, by model and by what they bring along; `tasks` that were
    tried, those with several decided `trials`, and of these the `mixed` ones, with both outcomes.
    `worlds`: environments of tasks with a check that can be opened here; `tested`: accepted tests.
    """

    outcomes: Mapping[str, int]
    models: Mapping[str, int]
    valid: int
    calling: int
    with_tools: int
    with_prompt: int
    tasks: int
    trials: int
    mixed: int
    worlds: tuple[str, ...]
    tested: int

    @property
    def judged(self) -> int:
        """Valid trajectories with a verdict."""
        return self.valid - self.outcomes.get(Outcome.UNKNOWN.value, 0)

    def lines(self) -> Iterator[str]:
        """What was found, a line each."""
        yield f"{self.valid:,} valid trajectories: {_told(self.outcomes)}"
        yield (
            f"{counted_noun(self.tasks, 'task')}; {self.trials:,} with several decided trials, "
            f"{self.mixed:,} of them with successes and failures"
        )
        yield (
            f"{self.calling:,} call tools, {self.with_tools:,} bring tool schemas, "
            f"{self.with_prompt:,} a system prompt"
        )
        yield f"models: {_told(self.models)}"
        yield f"worlds that can be opened here: {', '.join(self.worlds) or 'none'}"
        yield f"accepted tests of acts: {self.tested:,}"


def survey(ledger: StoredLedger, bindings: Bindings) -> Survey:
    """Looks at every trajectory once; nothing is opened or written."""
    outcomes = Counter(record["outcome"] for record in ledger.records())
    models, having = Counter[str](), Counter[str]()
    decided: defaultdict[str, Counter[str]] = defaultdict(Counter)
    valid = 0

    for one in ledger.trajectories(set(ledger.state.current_valid())):
        valid += 1
        models[one.model or "unknown"] += 1
        having.update(_brought(one))
        decided[one.task_id][one.outcome.value] += 1

    both = [has for has in map(_has_both, decided.values()) if has is not None]
    return Survey(
        outcomes=dict(outcomes),
        models=dict(models),
        valid=valid,
        calling=having["calling"],
        with_tools=having["with_tools"],
        with_prompt=having["with_prompt"],
        tasks=len(decided),
        trials=len(both),
        mixed=sum(both),
        worlds=tuple(_opened(ledger, bindings)),
        tested=_tested(ledger),
    )


def _has_both(outcomes: Mapping[str, int]) -> bool | None:
    """Whether a task's decided trials have both outcomes; None where there are not several."""
    passed, failed = (outcomes.get(one.value, 0) for one in (Outcome.SUCCESS, Outcome.FAILURE))
    return passed > 0 and failed > 0 if passed + failed > 1 else None


def _brought(one: Trajectory) -> Iterator[str]:
    if any(turn.tool_calls for turn in one.turns):
        yield "calling"
    if one.tools:
        yield "with_tools"
    if one.system_prompt:
        yield "with_prompt"


def _opened(ledger: StoredLedger, bindings: Bindings) -> Iterator[str]:
    """Environments of tasks that can be asked again: a check there is, and a world."""
    ids = set(ledger.task_ids())
    names = {task.env for task in ledger.tasks(ids).values() if task.check is not None}
    for name in sorted(names):
        try:
            bindings.world(name)
        except ConfigError:  # not bound, or no world of that name
            continue
        yield name


def _tested(ledger: StoredLedger) -> int:
    with connect(ledger) as connection:
        rows = read(connection, Experiment, _TESTS, aside=SetAside())
        return sum(row.about.confirmed and not row.about.control for row in rows)


def _told(counts: Mapping[str, int]) -> str:
    """The largest first, the rest in one number."""
    found = Counter(counts).most_common()
    named = ", ".join(f"{count:,} {name}" for name, count in found[:_MOST_NAMED])
    rest = found[_MOST_NAMED:]
    others = f", {sum(count for _, count in rest):,} of {len(rest)} others" if rest else ""
    return f"{named}{others}" or "none"
