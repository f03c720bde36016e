"""Failure attribution on Who&When and AgentRx: the rule-based attributor beside base rates,
published figures and the human ceiling.

Run: `python -m benchmarks.attribution` (needs ../shared/data)
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.command_line import ROOT
from benchmarks.figures import Figure, Report, shown
from benchmarks.machine import CpuOfOthers
from benchmarks.within_tasks import newcombe
from synth.filters.attribution.suspects import agent_of, by_rules, own_turns
from synth.importers.labelling.joined import Named, joined
from synth.importers.load import opened
from synth.importers.records import Blamed, Imported, Labelled, Rejection
from synth.schemas.trajectory import Trajectory
from synth.stats.intervals import clopper_pearson

DATA = ROOT.parent / "shared" / "data"
READ = frozenset({"1.json", "10.json", "11.json", "112.json"})
"""Files of Who&When that were read while the rules were written: left out of the figures."""
CEILING = (27 / 44, 16 / 44)
"""Two annotations of the same 44 failures agree on the agent and on the step so often
(docs/attribution.md).
"""


@dataclass(frozen=True, slots=True)
class Case:
    """A failed run with the agent and turn that a person blamed; `turn` None where that is no
    agent's turn. `names`: who takes part.
    """

    trajectory: Trajectory
    agent: str
    turn: int | None
    names: tuple[str, ...]


Pick = Callable[[Case], tuple[str, int]]


def who_and_when(folder: Path) -> list[Case]:
    """The algorithm-generated half, without the files that were read."""
    found = []
    for path in sorted(folder.glob("*.json")):
        if path.name in READ:
            continue
        for source in opened([path], format="who_and_when"):
            for entry in () if isinstance(source, Rejection) else source.entries:
                if isinstance(entry, Imported):
                    found.append(_marked(entry))
    return found


def _marked(entry: Imported) -> Case:
    (mark,) = entry.marks
    trajectory = entry.trajectory
    names = tuple(dict.fromkeys(agent_of(trajectory, turn.index) for turn in trajectory.turns))
    return Case(trajectory, str(mark.blamed), mark.turn, names)


def agentrx(folder: Path) -> list[Case]:
    """The nine failed runs with root causes; two of the roots are a user's."""
    known: dict[str, Trajectory] = {}
    named: list[Named] = []
    labels: list[Labelled] = []
    for source in opened([folder]):
        if isinstance(source, Rejection):
            continue
        for entry in source.entries:
            if isinstance(entry, Imported):
                known[entry.trajectory.trajectory_id] = entry.trajectory
                identity = entry.trajectory.trajectory_id
                named.append(Named(entry.name, identity, entry.turn_of_message))
            elif isinstance(entry, Labelled):
                labels.append(entry)
    found = []
    for label in joined(named, labels):
        if isinstance(label, Rejection):
            raise RuntimeError(f"{label.file}: {label.detail}")
        for score in label[1]:
            if score.metric == "agentrx.root_cause":
                assert isinstance(score.detail, Blamed)
                blamed = str(score.detail.agent)
                agent = "agent" if blamed == "Assistant" else blamed
                found.append(Case(known[score.subject_id], agent, score.turn, ("agent", "User")))
    return found


def rules(case: Case) -> tuple[str, int]:
    """The rule-based attributor."""
    found = by_rules(case.trajectory)
    if found is None:
        raise RuntimeError(f"{case.trajectory.trajectory_id}: no agent did anything")
    return found.agent, found.turn


def nth(place: int) -> Pick:
    """Always the same turn of the agents' own."""

    def pick(case: Case) -> tuple[str, int]:
        own = own_turns(case.trajectory)
        turn = own[min(place, len(own) - 1)].index if place >= 0 else own[place].index
        return agent_of(case.trajectory, turn), turn

    return pick


def _figures(title: str, cases: Sequence[Case]) -> Iterator[Figure]:
    """Accuracy of agent and step with exact 95 % intervals; at random over participants and own
    turns, expected.
    """
    yield Figure(f"{title}: runs", len(cases))
    picks: dict[str, Pick] = {
        "rules": rules,
        "first turn": nth(0),
        "second turn": nth(1),
        "last turn": nth(-1),
    }
    hits: dict[str, tuple[int, int]] = {}
    for name, pick in picks.items():
        named = [(case, *pick(case)) for case in cases]
        agents = sum(agent == case.agent for case, agent, _ in named)
        steps = sum(turn == case.turn for case, _, turn in named)
        hits[name] = agents, steps
        for what, count in (("agent", agents), ("step", steps)):
            low, high = clopper_pearson(count, len(cases))
            yield Figure(
                f"{title}: {name}, {what} ({100 * low:.0f} to {100 * high:.0f})",
                100 * count / len(cases),
                "%",
            )
    agent = sum((case.agent in case.names) / len(case.names) for case in cases) / len(cases)
    step = sum((case.turn is not None) / len(own_turns(case.trajectory)) for case in cases) / len(
        cases
    )
    yield Figure(f"{title}: at random, agent", 100 * agent, "%")
    yield Figure(f"{title}: at random, step", 100 * step, "%")
    for at, what in enumerate(("agent", "step")):
        low, high = newcombe(hits["rules"][at], len(cases), hits["second turn"][at], len(cases))
        yield Figure(
            f"{title}: rules less second turn, {what}, points ({100 * low:+.0f} to "
            f"{100 * high:+.0f})",
            100 * (hits["rules"][at] - hits["second turn"][at]) / len(cases),
        )


def _by_rule(title: str, cases: Sequence[Case]) -> Iterator[str]:
    counts: dict[str, list[int]] = {}
    for case in cases:
        found = by_rules(case.trajectory)
        if found is not None:
            row = counts.setdefault(found.rule or "", [0, 0, 0])
            row[0] += 1
            row[1] += found.agent == case.agent
            row[2] += found.turn == case.turn
    for rule, (n, agents, steps) in sorted(counts.items(), key=lambda one: -one[1][0]):
        yield f"{title}: {rule:22} {n:>3} runs, agent right in {agents}, step in {steps}"


def measure() -> Report:
    """Both data sets."""
    data = {"Who&When": who_and_when(DATA / "whowhen_ag"), "AgentRx": agentrx(DATA / "agentrx_tau")}
    figures: list[Figure] = []
    for title, cases in data.items():
        for line in _by_rule(title, cases):
            print(line)
        figures += _figures(title, cases)
    figures += [
        Figure("human ceiling, agent (44 runs)", 100 * CEILING[0], "%"),
        Figure("human ceiling, step", 100 * CEILING[1], "%"),
    ]
    return Report(
        "Failure attribution",
        figures,
        "Rules see no gold answer. In brackets exact 95 % intervals; the difference by Newcombe, "
        "as if the two were independent. "
        f"{len(READ)} runs of Who&When that were read while the rules were written are left out.",
    )


if __name__ == "__main__":
    if not DATA.is_dir():
        sys.exit("benchmarks.attribution: real trajectories absent: ../shared/data")
    others = CpuOfOthers()
    sys.exit(shown(measure(), others))
