"""Lucky passes: do detectors find them better than counting turns does? Detector and baseline are
fixed on storefront, where the truth is known, and compared once on tau2, paired by task.

Run: `python -m benchmarks.gates.lucky` (the comparison needs ../shared/data). A lucky pass of
storefront passed with a write that nothing shown had justified; of tau2 one that missed a gold
action, which is a proxy: it may have gone another way.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial

from benchmarks.by_task import average_precision
from benchmarks.gates.automaton import process_score, tier
from benchmarks.gates.paired import Compared, interval
from benchmarks.gates.table import Rate, table
from benchmarks.real_trajectories import DATA, real
from benchmarks.selection_truth import AMBIGUOUS
from benchmarks.signals import of_trajectory, proxies
from benchmarks.storefront_pool import GUESSERS, TRIALS, pool
from synth.envs.sql import WORLD as SQL
from synth.schemas import Outcome, Source, Task, Trajectory

TASKS = 60
PROXY = "lucky_or_alternate_pass_proxy"
TAU2 = ("tau2_airline", "tau2_retail", "tau2_retail_multi", "tau2_grok")
Q0 = "unlike other passes (AgentLens q0)"


@dataclass(frozen=True)
class Pass:
    """A pass, its task, whether it was lucky, and suspicions: more means worse."""

    task: str
    lucky: bool
    scores: Mapping[str, float]


def baselines(one: Trajectory) -> dict[str, float]:
    """What needs no method: lengths, both ways round, and who spoke last."""
    calls = sum(len(turn.tool_calls) for turn in one.turns)
    heard = one.turns[-1].observations if one.turns else ()
    user = any(told.source is Source.USER for told in heard)
    counts = {"turns": len(one.turns), "calls": calls, "a user speaks last": int(user)}
    less = {f"{name}, fewer" if name != "a user speaks last" else "nobody answers the last turn": -n
            for name, n in counts.items()}  # fmt: skip
    return {**{name: float(n) for name, n in counts.items()}, **less}


def detectors(one: Trajectory, passes: Sequence[Trajectory]) -> dict[str, float]:
    """Suspicions of methods of ours, and of AgentLens where there are five other passes."""
    found = of_trajectory(one)
    found.pop("turns (nothing but length)")
    like = process_score(one, passes)
    # a pass of which this is not known is as suspicious as the average one
    return {**found, Q0: -45.0 if like is None else -like}


def described(task: str, of: Sequence[tuple[Trajectory, bool]]) -> Iterator[Pass]:
    """The passes of one task."""
    alike = [one for one, _ in of]
    for one, lucky in of:
        yield Pass(task, lucky, {**baselines(one), **detectors(one, alike)})


@cache
def storefront() -> Sequence[Pass]:
    """Passes by outcome of planners three in four of which guess."""
    found = list[Pass]()
    trials = pool(TASKS, profiles=GUESSERS, outcome_only=True, **AMBIGUOUS)
    for task, of in trials.items():
        found += described(task, [(one.trajectory, one.lucky) for one in of if one.solved])

    return found


@cache
def tau2() -> Sequence[Pass]:
    """Passes of tau2 of which it is known whether they did all gold actions."""
    trials = [one for name in TAU2 for one in real([name]) if one.turns]
    known = proxies(trials)
    by_task: dict[str, list[tuple[Trajectory, bool]]] = {}
    for one in trials:
        if one.outcome is Outcome.SUCCESS:
            lucky = known.get(one.trajectory_id) == PROXY
            by_task.setdefault(one.task_id, []).append((one, lucky))

    return [found for task, of in by_task.items() for found in described(task, of)]


def precision(name: str, passes: Sequence[Pass]) -> float:
    """The average precision of a suspicion."""
    return average_precision([(one.scores[name], one.lucky) for one in passes])


def fixed(passes: Sequence[Pass]) -> tuple[str, str]:
    """The detector and the baseline that find most on one source."""
    trivial = [name for name in passes[0].scores if name in _TRIVIAL]
    methods = [name for name in passes[0].scores if name not in _TRIVIAL]
    best: Callable[[str], float] = partial(precision, passes=passes)
    return max(methods, key=best), max(trivial, key=best)


_TRIVIAL = (
    "turns",
    "turns, fewer",
    "calls",
    "calls, fewer",
    "a user speaks last",
    "nobody answers the last turn",
)


def compared(passes: Sequence[Pass], candidate: str, baseline: str) -> Compared:
    """The difference of average precision on another source."""
    groups: dict[str, list[Pass]] = {}
    for one in passes:
        groups.setdefault(one.task, []).append(one)

    def difference(of: Sequence[Pass]) -> float:
        return precision(candidate, of) - precision(baseline, of)

    found = interval(list(groups.values()), difference)
    return Compared(candidate, baseline, found, sum(one.lucky for one in passes))


def picked(source: str, passes: Sequence[Pass], name: str, *, trivial: bool) -> Rate:
    """How many of the most suspicious are not lucky, as many being taken as there are lucky."""
    count = sum(one.lucky for one in passes)
    first = sorted(passes, key=lambda one: -one.scores[name])[:count]
    base = count / max(1, len(passes))
    words = f"{name} (trivial)" if trivial else name
    wrong = sum(not one.lucky for one in first)
    return Rate(
        source, f"lucky: {words}", "picked, not lucky", wrong, count, f"base {1 - base:.0%}"
    )


def rows() -> list[Rate]:
    """Detector and baseline, where they were fixed and where they are compared."""
    candidate, baseline = fixed(storefront())
    sources = {"storefront (fixed here)": storefront()}
    sources |= {"tau2 (proxy)": tau2()} if DATA.is_dir() else {}
    return [
        picked(source, passes, name, trivial=name == baseline)
        for source, passes in sources.items()
        for name in (candidate, baseline)
    ]


async def _sql_passes(task: Task) -> list[Trajectory]:
    """Passes of one question, each by a planner with misconceptions of its own."""
    from benchmarks.gates.honest import trajectory
    from synth.envs.bots import expert
    from synth.envs.transcript import play
    from synth.schemas import Turn

    found = []
    for trial in range(TRIALS):
        done = await play(SQL.open(task.env_config), task, expert("mixed"), seed=trial)
        if done.verdict.passed:
            turns = [Turn(at, act.content, act.tool_calls) for at, act in enumerate(done.actions)]
            found.append(trajectory(f"{task.task_id} {trial}", (), turns))

    return found


def tiers() -> Iterator[str]:
    """Tiers of passes of tasks that pass six times or more, in storefront by truth."""
    shares: dict[str, list[str]] = {}
    for one in storefront():
        if one.scores[Q0] != -45.0:
            kind = "lucky" if one.lucky else "justified"
            shares.setdefault(f"storefront, truly {kind}", []).append(tier(-one.scores[Q0]))

    for task in SQL.make_tasks({}, 29, TASKS // 3):
        passes = asyncio.run(_sql_passes(task))
        values = [process_score(one, passes) for one in passes]
        shares.setdefault("sql", []).extend(tier(value) for value in values if value is not None)

    for name, found in shares.items():
        counts = (f"{kind} {found.count(kind)}" for kind in ("ideal", "solid", "lucky"))
        yield f"{name}: {len(found)} passes: {', '.join(counts)}"


def main() -> None:
    """Prints the table, the comparison and the tiers."""
    print("\n".join(table(rows())))
    candidate, baseline = fixed(storefront())
    print(f"\nfixed on storefront: {candidate}; baseline: {baseline}")
    for name, passes in {
        "storefront": storefront(),
        "tau2": tau2() if DATA.is_dir() else (),
    }.items():
        for one in passes[0].scores if passes else ():
            print(f"{name}: {one}: average precision {precision(one, passes):.3f}")
    if DATA.is_dir():
        print(f"tau2: {compared(tau2(), candidate, baseline)}")
    print("\n".join(tiers()))


if __name__ == "__main__":
    main()
