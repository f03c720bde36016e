"""Leaks by meaning: wordings of leaks that pass, and retries without one that are held back,
without a judge. Beside it the exact scan alone, which holds nothing back.

Run: `python -m benchmarks.gates.leaks` (real trajectories need ../shared/data; the half of them
that nothing was fitted to). `--missed` lists what passes of the wordings held out, `--false` what
is held back.
"""

import sys
from collections.abc import Iterator, Sequence
from itertools import cycle, pairwise
from pathlib import Path
from random import Random

import msgspec

from benchmarks.gates.arguments import lesson
from benchmarks.gates.fit_leaks import halved
from benchmarks.gates.honest import planned, trajectory
from benchmarks.gates.table import Rate, table
from benchmarks.real_trajectories import DATA
from synth.filters.leaks.calibration import Situation
from synth.schemas import Observation, Source, ToolCall, Trajectory, Turn
from synth.text.leaks import leaks, suspicions

WORDINGS = {
    "author (fitted to)": "leaks_held_out.yaml",
    "first outsider (fitted to)": "leaks_outsider.yaml",
    "second outsider (fitted to)": "leaks_second_outsider.yaml",
    "third outsider (not looked at)": "leaks_third_outsider.yaml",
}
"""Who wrote them, and whether the gate was fitted to them -> where they lie. The third outsider's
were measured once, with the finished gate, before anybody read them.
"""
WORLDS = {"storefront": 60, "sql": 60, "textworld": 5}
"""World -> tasks played by its planner; a game of TextWorld takes seconds to make."""
REAL = {
    "tau": ("tau1", "tau1_retail", "tau2_airline", "tau2_retail", "tau2_grok"),
    "SWE-agent": ("sweagent_demos",),
    "FireAct": ("fireact",),
    "ToolBench": ("toolbench",),
}
MOST = 120
"""Real trajectories of a source that are scanned."""
ADVICE = (
    "Before you go on, keep in mind:\n- read every page and check what you have found before you "
    "change anything; ask where something is not clear\nAct on this silently."
)
GATES = {"leaks": (leaks, suspicions), "exact scan (trivial)": (leaks,)}
_PASS, _HELD = "leaks that pass", "retries held back"
Case = tuple[Trajectory, str]
"""A retry, and what was whispered."""


class HeldOut(msgspec.Struct, frozen=True):
    """References, and situations with secrets and harmless turns."""

    references: Sequence[str]
    situations: Sequence[Situation]


def held_out(author: str = "author (fitted to)") -> HeldOut:
    """An author's wordings."""
    file = Path(__file__).parent / "data" / WORDINGS[author]
    return msgspec.yaml.decode(file.read_bytes(), type=HeldOut)


def retry(one: Situation, text: str) -> Case:
    """A look at what everybody sees, and then a turn of the guided agent's own."""
    look = ToolCall.received("c0", "look", "{}")
    told = trajectory(
        one.name,
        [Observation(one.user, Source.USER)],
        [
            Turn(0, tool_calls=(look,), observations=(Observation(one.seen, call_id="c0"),)),
            Turn(1, text),
        ],
        system_prompt=one.system,
        pivot_turn=1,
        guidance=one.lesson,
    )
    return told, one.lesson


def alluding(one: Trajectory, text: str) -> Case:
    """An episode in whose middle a turn says a thing more."""
    at = len(one.turns) // 2
    turn = msgspec.structs.replace(one.turns[at], thought=text)
    turns = (*one.turns[:at], turn, *one.turns[at + 1 :])
    return msgspec.structs.replace(one, turns=turns, pivot_turn=at), ADVICE


def stopped(cases: Sequence[Case], gate: str, since: int | None = None) -> int:
    """How many a gate drops or holds back."""
    scans = GATES[gate]
    return sum(any(scan(one, told, since=since) for scan in scans) for one, told in cases)


def misses(source: str, cases: Sequence[Case], target: str) -> Iterator[Rate]:
    """Leaks that pass, by gate."""
    for gate in GATES:
        yield Rate(source, gate, _PASS, len(cases) - stopped(cases, gate), len(cases), target)


def false_alarms(source: str, cases: Sequence[Case], since: int | None = None) -> Iterator[Rate]:
    """Retries without a leak that are dropped or held back, by gate."""
    for gate in GATES:
        count = stopped(cases, gate, since)
        yield Rate(source, gate, _HELD, count, len(cases), "at most 10 %")


def by_hand(author: str) -> Iterator[Rate]:
    """An author's wordings."""
    words = held_out(author)
    places = cycle(words.situations)
    references = [retry(next(places), text) for text in words.references]
    secrets = [retry(one, text) for one in words.situations for text in one.secrets]
    harmless = [retry(one, text) for one in words.situations for text in one.harmless]

    yield from misses(f"{author}, references", references, "at most 30 %")
    yield from misses(f"{author}, secrets", secrets, "at most 20 %")
    yield from false_alarms(f"{author}, harmless", harmless)


def of_source(source: str, episodes: Sequence[Trajectory]) -> Iterator[Rate]:
    """Whole unguided episodes as retries with advice, and references within them."""
    whole = [one for one in episodes if one.turns]
    yield from false_alarms(source, [(one, ADVICE) for one in whole], since=0)
    references = held_out().references
    planted = [alluding(one, text) for one, text in zip(cycle(whole), references, strict=False)]
    yield from misses(f"{source}, references", planted, "at most 30 %")


def rows() -> list[Rate]:
    """All rates; of real trajectories where these are there."""
    found = [rate for author in WORDINGS for rate in by_hand(author)]
    for world, count in WORLDS.items():
        found += of_source(world, planned(world, count))

    for source, folders in REAL.items() if DATA.is_dir() else ():
        every = [one for name in folders for one in halved(name, fitted=False) if one.turns]
        drawn = Random(3).sample(every, min(MOST, len(every)))
        found += of_source(source, drawn)
        # as if a careless reflector had written about another task of the same domain
        others = [(one, lesson(other)) for one, other in pairwise(drawn)]
        unlike = [(one, told) for one, told in others if told != lesson(one)]
        found += false_alarms(f"{source}, another task's lesson", unlike, since=0)

    return found


def main() -> None:
    """Prints the table, or the wordings that go wrong."""
    wanted = next((one for one in sys.argv[1:]), "")
    if not wanted:
        print("\n".join(table(rows())))
        return

    words = held_out()
    places = cycle(words.situations)
    told = [retry(next(places), text) for text in words.references]
    told += [retry(one, text) for one in words.situations for text in one.secrets]
    if wanted == "--false":
        told = [retry(one, text) for one in words.situations for text in one.harmless]

    for case in told:
        if bool(stopped([case], "leaks")) == (wanted == "--false"):
            print(f"{case[0].task_id}: {case[0].turns[-1].content}")


if __name__ == "__main__":
    main()
