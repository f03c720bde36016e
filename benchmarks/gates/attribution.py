"""Attribution by rules against constants: who broke a failed run, and in which turn. The baseline
of turns is fixed on storefront, where the first unjustified write is known, and compared once on
Who&When; agents are compared with every constant. Paired by run, tasks resampled.

Run: `python -m benchmarks.gates.attribution` (Who&When and AgentRx need ../shared/data)
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache

from benchmarks.attribution import Case, agentrx, nth, rules, who_and_when
from benchmarks.gates.paired import Compared, interval
from benchmarks.gates.table import Rate, table
from benchmarks.real_trajectories import DATA
from benchmarks.storefront_pool import GUESSERS, SEED, pool
from benchmarks.truth.monitor import truth_of
from synth.envs.storefront import WORLD
from synth.filters.attribution.suspects import agent_of, own_turns
from synth.text.provenance.effect import effectful_by_name

TASKS = 60
Pick = Callable[[Case], tuple[str, int]]


def last_change(case: Case) -> tuple[str, int]:
    """The last turn that changes something, else the last."""
    own = own_turns(case.trajectory)
    changing = [
        turn for turn in own if any(effectful_by_name(call.name) for call in turn.tool_calls)
    ]
    turn = (changing or own)[-1].index
    return agent_of(case.trajectory, turn), turn


def most_frequent(case: Case) -> tuple[str, int]:
    """Who takes most turns, of equals the first; in the first of them."""
    own = own_turns(case.trajectory)
    counts = Counter(agent_of(case.trajectory, turn.index) for turn in own)
    agent = counts.most_common(1)[0][0]
    turns = (turn.index for turn in own if agent_of(case.trajectory, turn.index) == agent)
    return agent, next(turns)


OF_TURNS: Mapping[str, Pick] = {
    "first turn": nth(0),
    "second turn": nth(1),
    "last turn": nth(-1),
    "last change": last_change,
}
OF_AGENTS: Mapping[str, Pick] = {
    "last speaker": nth(-1),
    "most frequent": most_frequent,
    "first speaker": nth(0),
}


@cache
def storefront() -> Sequence[Case]:
    """Failed trials with an unjustified write: the first of these is to blame."""
    tasks = {task.task_id: task for task in WORLD.make_tasks({}, SEED, TASKS)}
    found = []
    for task_id, trials in pool(TASKS, profiles=GUESSERS).items():
        for one in trials:
            if not one.solved and one.truth.guessed:
                told = asyncio.run(truth_of(tasks[task_id], one.trajectory))
                turns = [write.turn for write in told.writes if write.label != "justified"]
                found.append(Case(one.trajectory, "agent", min(turns), ("agent",)))

    return found


@cache
def labelled() -> Mapping[str, Sequence[Case]]:
    """Runs that people have marked; none where the data is not there."""
    if not DATA.is_dir():
        return {}
    return {
        "Who&When": who_and_when(DATA / "whowhen_ag"),
        "AgentRx": agentrx(DATA / "agentrx_tau"),
    }


def right(case: Case, pick: Pick, *, step: bool) -> bool:
    """Whether a way to blame names the turn, or the agent."""
    agent, turn = pick(case)
    return turn == case.turn if step else agent == case.agent


def fixed() -> str:
    """The constant that names most turns on storefront."""
    return max(OF_TURNS, key=lambda name: sum(right(one, OF_TURNS[name], step=True)
                                              for one in storefront()))  # fmt: skip


def compared(cases: Sequence[Case], baseline: str, *, step: bool) -> Compared:
    """The rules' share of right ones less a constant's; positives: what the better one names."""
    pick = (OF_TURNS if step else OF_AGENTS)[baseline]
    groups: dict[str, list[tuple[bool, bool]]] = {}
    for one in cases:
        pair = right(one, rules, step=step), right(one, pick, step=step)
        groups.setdefault(one.trajectory.task_id, []).append(pair)

    def difference(of: Sequence[tuple[bool, bool]]) -> float:
        return sum(ours - theirs for ours, theirs in of) / len(of)

    what = "turn" if step else "agent"
    found = interval(list(groups.values()), difference)

    return Compared(f"rules, {what}", baseline, found, len(cases))


def rows() -> list[Rate]:
    """What rules and constants name wrongly."""
    found = list(_rates("storefront (fixed here)", storefront(), step=True))
    for source, cases in labelled().items():
        found += _rates(source, cases, step=True)
        found += _rates(source, cases, step=False)

    return found


def _rates(source: str, cases: Sequence[Case], *, step: bool) -> Iterator[Rate]:
    what = "turn" if step else "agent"
    constants = {fixed(): OF_TURNS[fixed()]} if step else OF_AGENTS
    for name, pick in {"rules": rules, **constants}.items():
        words = name if name == "rules" else f"{name} (trivial)"
        wrong = sum(not right(one, pick, step=step) for one in cases)
        gate = f"attribution: {words}"
        yield Rate(source, gate, f"wrong {what}", wrong, len(cases), "below the trivial")


def main() -> None:
    """Prints the table and the comparisons."""
    print("\n".join(table(rows())))
    print(f"\nfixed on storefront: {fixed()}")
    print(f"storefront: {compared(storefront(), fixed(), step=True)}")
    for source, cases in labelled().items():
        # the fixed one may be weak there: the others are shown, and decide nothing
        for name in OF_TURNS:
            print(f"{source}: {compared(cases, name, step=True)}")
        for name in OF_AGENTS:
            print(f"{source}: {compared(cases, name, step=False)}")


if __name__ == "__main__":
    main()
