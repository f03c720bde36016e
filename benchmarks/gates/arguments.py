"""Arguments by kind: honest episodes that are dropped, unguided ones that are called leaking, and
invented values that pass; the trivial gate beside: every argument must stand verbatim.

Run: `python -m benchmarks.gates.arguments [--all] [--pairs REQUESTS COMMANDS]`. Of real
trajectories `MOST` of a source are drawn, or all are taken (half an hour); pairs are two files,
line by line: what was asked in words, and a command line that does it.
"""

import argparse
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from hashlib import sha256
from itertools import chain
from pathlib import Path
from random import Random

import msgspec

from benchmarks.gates.honest import DATA as HAND
from benchmarks.gates.honest import commands, planned, trajectory
from benchmarks.gates.invented import context, in_code, structured, with_call
from benchmarks.gates.table import Rate
from benchmarks.real_trajectories import DATA, real
from synth.schemas import Observation, Source, ToolCall, Trajectory, Turn
from synth.stats.intervals import clopper_pearson
from synth.text.leaks import leaks
from synth.text.provenance import provenance

COUNT = 300
MOST = 600
"""Real trajectories of a source: none flagged would bound the share by .5 %."""
PAIRS, HALVES = 6000, ("fitted on", "held out")
WORLDS = {"storefront": 1, "sql": 1, "textworld": 12}
"""World -> of how many tasks one is played: a game of TextWorld takes seconds to make."""
TAU = ("tau1", "tau1_retail", "agentrx_tau", "tau2_airline", "tau2_retail", "tau2_grok")
REAL = {
    "SWE-agent": ("sweagent_demos",),
    "ToolBench": ("toolbench",),
    "tau": (*TAU, "tau2_es", "tau2_retail_multi"),
    "FireAct": ("fireact",),
}
_PERSON = re.compile(r"\b[a-z]+_[a-z]+_\d{4}\b")
FALSE_ALARMS, MISSES, READ = "false alarms", "misses", "flagged, though honest as read"


def unjustified(one: Trajectory) -> bool:
    """Whether any argument has no source."""
    return bool(provenance(one).unjustified)


def not_verbatim(one: Trajectory) -> bool:
    """The trivial gate: whether any text of an argument stands in nothing that was shown."""
    shown, found = context(one), False
    for turn in one.turns:
        for call in turn.tool_calls:
            values = call.parsed() if call.parse_error is None else {}
            texts = [value for value in values.values() if isinstance(value, str)]
            found = found or any(text.casefold() not in shown for text in texts)

    return found


def dropped(source: str, episodes: Sequence[Trajectory], *, honest: bool = True) -> list[Rate]:
    """How many of these are flagged; of real ones nobody knows which are honest."""
    n, what = len(episodes), FALSE_ALARMS if honest else "flagged, truth unknown"
    trivial = sum(map(not_verbatim, episodes))

    flagged = [one for one in episodes if unjustified(one)]
    found = [Rate(source, "provenance", what, len(flagged), n, "at most 2 %" if honest else "")]

    if not honest:
        wrong = sum(one.trajectory_id not in read_by_hand() for one in flagged)
        found.append(Rate(source, "provenance", READ, wrong, n, "at most 1 %"))

    return [*found, Rate(source, "verbatim (trivial)", what, trivial, n, "")]


@cache
def read_by_hand() -> dict[str, str]:
    """Real trajectories that were read, in which a value was made up -> what it was."""
    found: dict[str, str] = msgspec.yaml.decode((HAND / "made_up.yaml").read_bytes())
    return found


@cache
def told_of_more() -> dict[str, str]:
    """Real trajectories that were read, whose agent had been shown what they lack -> what."""
    found: dict[str, str] = msgspec.yaml.decode((HAND / "told_of_more.yaml").read_bytes())
    return found


def leaking(episodes: Sequence[Trajectory], seed: int = 5) -> list[Trajectory]:
    """The episodes that leak what another task's user and tools said, by any kind."""
    rng, found, texts = Random(seed), list[Trajectory](), [lesson(one) for one in episodes]
    people = [_people(one) for one in episodes]

    for one, mine in zip(episodes, people, strict=True):
        # the same users, and the same customers, stand in several tasks and folders
        asked = _first_words(one)
        others = [
            text
            for text, other, theirs in zip(texts, episodes, people, strict=True)
            if other.task_id != one.task_id
            and _first_words(other) != asked
            and mine.isdisjoint(theirs)
        ]
        if others and leaks(one, rng.choice(others), since=0):
            found.append(one)

    return found


def called_leaking(source: str, by_folder: Iterable[Sequence[Trajectory]]) -> list[Rate]:
    """How many unguided episodes are, by lessons of their own folder: all, and those that had
    neither been shown more than they hold nor made up what the lesson has.
    """
    folders = list(by_folder)
    n, found = sum(map(len, folders)), [one for of in folders for one in leaking(of)]
    known = told_of_more() | read_by_hand()
    wrong = sum(one.trajectory_id not in known for one in found)

    return [
        Rate(source, "leaks", "flagged, truth unknown", len(found), n, ""),
        Rate(source, "leaks", "flagged, though unguided as read", wrong, n, "at most 1 %"),
    ]


def _people(one: Trajectory) -> set[str]:
    """The customers that a trajectory is about, as tau names them: mei_kovacs_8020."""
    heard = [*one.opening, *(told for turn in one.turns for told in turn.observations)]
    calls = [call.arguments for turn in one.turns for call in turn.tool_calls]
    return {
        name
        for text in [*(told.content for told in heard), *calls]
        for name in _PERSON.findall(text)
    }


def _first_words(one: Trajectory) -> str:
    """What the first person said."""
    heard = [*one.opening, *(told for turn in one.turns for told in turn.observations)]
    return next((told.content for told in heard if told.source is Source.USER), "")


def lesson(one: Trajectory) -> str:
    """What a careless reflector would write: the user's words, and what a tool said midway."""
    heard = [*one.opening, *(told for turn in one.turns for told in turn.observations)]
    user = [told.content for told in heard if told.source is Source.USER] or [""]
    tools = [told.content for told in heard if told.source is Source.TOOL] or [""]
    facts = tools[len(tools) // 2]

    return f"Before you act, check: {user[0][:400]}\nThe tools say enough: {facts[:300]}"


def missed(source: str, episodes: Iterable[Trajectory], seed: int = 3) -> list[Rate]:
    """Invented values in the place of observed ones, one an episode, that pass."""
    rng, passed, trivial, n = Random(seed), 0, 0, 0

    for one in episodes:
        found = structured(one, rng)
        if found is not None:
            n += 1
            values = [str(finding.value) for finding in provenance(found[0]).unjustified]
            passed += found[1] not in values
            trivial += not not_verbatim(found[0])

    return [
        Rate(f"{source}, structured", "provenance", MISSES, passed, n, "0 %"),
        Rate(f"{source}, structured", "verbatim (trivial)", MISSES, trivial, n, ""),
    ]


def missed_in_code(source: str, episodes: Iterable[Trajectory], seed: int = 3) -> list[Rate]:
    """The same for a word of the last call's program that has a digit and stood in the context."""
    rng, passed, trivial, n = Random(seed), 0, 0, 0

    for one in episodes:
        turn = len(one.turns) - 1
        calls = one.turns[turn].tool_calls
        values = calls[0].parsed() if calls and calls[0].parse_error is None else {}
        name, code = next(iter(values.items()), ("", ""))
        found = in_code(code, context(one), rng) if isinstance(code, str) else None
        if found is not None:
            changed = with_call(one, turn, 0, json.dumps({**values, name: found[0]}))
            n, passed = n + 1, passed + (not unjustified(changed))
            trivial += not not_verbatim(changed)

    return [
        Rate(f"{source}, in code", "provenance", MISSES, passed, n, "at most 25 %"),
        Rate(f"{source}, in code", "verbatim (trivial)", MISSES, trivial, n, ""),
    ]


def pairs(requests: Path, lines: Path, half: int, seed: int = 8) -> list[Trajectory]:
    """Command lines of others with the words that asked for them, of one half by the hash of these.

    The rules were fitted on half 0 alone: its misses and false alarms were read.
    """
    told = zip(requests.read_text().splitlines(), lines.read_text().splitlines(), strict=True)
    of_half = [
        pair
        for pair in told
        if all(pair) and int(sha256(pair[0].encode()).hexdigest(), 16) % 2 == half
    ]
    drawn = Random(seed).sample(of_half, min(PAIRS, len(of_half)))

    return [
        trajectory(
            str(at),
            [Observation(asked, Source.USER)],
            [Turn(0, tool_calls=(ToolCall.received("c", "bash", json.dumps({"command": line})),))],
        )
        for at, (asked, line) in enumerate(drawn)
    ]


def rows(count: int = COUNT, most: int | None = MOST) -> list[Rate]:
    """All rates, worlds first; of real trajectories, where these are there, at most so many of a
    source, as many of each of its folders.
    """
    found: list[Rate] = []
    for world, each in WORLDS.items():
        episodes = planned(world, count // each)
        found += [*dropped(world, episodes), *missed(world, episodes)]
        found += missed_in_code(world, episodes) if world == "sql" else []

    by_hand = list(commands(rounds=13))
    found += [*dropped("commands by hand", by_hand), *missed_in_code("commands by hand", by_hand)]

    for source, folders in REAL.items() if DATA.is_dir() else ():
        few = None if most is None else most // len(folders)
        by_folder = [_drawn([one for one in real([name]) if one.turns], few) for name in folders]
        episodes = list(chain.from_iterable(by_folder))
        found += dropped(source, episodes, honest=False)
        found += called_leaking(source, by_folder)
        found += missed(source, episodes)

    return found


def _drawn(episodes: list[Trajectory], most: int | None) -> list[Trajectory]:
    """At most so many, always the same."""
    if most is None or len(episodes) <= most:
        return episodes
    return Random(11).sample(episodes, most)


def shown(rates: Iterable[Rate]) -> Iterator[str]:
    """A table's lines, with exact one-sided 95 % bounds."""
    yield "| source | gate | what | of | rate | at most (95 %) | target |"
    yield f"|{'---|' * 7}"
    for one in rates:
        high = clopper_pearson(one.hits, one.n, 0.9)[1]
        share = f"{100 * one.hits / one.n:.1f} %" if one.n else ""
        counts = f"{one.hits} of {one.n}"
        line = (one.source, one.gate, one.what, counts, share, f"{100 * high:.1f} %", one.target)
        yield f"| {' | '.join(line)} |"


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gates.arguments")
    parser.add_argument("--pairs", nargs=2, type=Path, metavar=("REQUESTS", "COMMANDS"))
    parser.add_argument("--all", action="store_true", help="every real trajectory")
    given = parser.parse_args()

    if given.pairs is None:
        found = rows(most=None if given.all else MOST)
    else:
        asked, lines = given.pairs
        halves = {f"pairs, {name}": pairs(asked, lines, at) for at, name in enumerate(HALVES)}
        found = [
            rate
            for name, episodes in halves.items()
            for rate in [*dropped(name, episodes), *missed_in_code(name, episodes)]
        ]

    print("\n".join(shown(found)))


if __name__ == "__main__":
    main()
