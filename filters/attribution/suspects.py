"""Turns that look wrong by the transcript alone: the rules of `rules.yaml`.

No rule knows what is right: each is a sign that goes with failures, and the strongest that is seen
in a failed run names its turn. What it was measured on stands in docs/attribution.md.
"""

import re
from collections.abc import Iterator, Mapping

import msgspec

from synth.schemas import SampledBy, Source, Termination, Trajectory, Turn
from synth.text.data_files import read
from synth.text.provenance.effect import effectful_by_name, first_word
from synth.text.provenance.linter import provenance
from synth.text.transcript.acts import act_digest

LONE_AGENT = "agent"
Found = tuple[int, str, tuple[object, ...]]
"""A turn, the rule that suspects it, and what its reason speaks of."""


class _Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The mode of the legend (`synth.text.failure_modes`), and the reason as a format."""

    mode: str
    why: str


class _Rules(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file: rules by strength, the strongest first, and what they look for.

    `handed_over`: first words of the names of tools that give a task to somebody else; the others
    are expressions that are searched for in what was said or answered, letter case aside.
    """

    rules: Mapping[str, Mapping[str, _Rule]]
    failed: str
    invented: str
    claim: str
    trouble: str
    handed_over: frozenset[str]


_FILE = read("filters/attribution/rules.yaml", _Rules)
_FAILED, _INVENTED, _CLAIM, _TROUBLE = (
    re.compile(pattern, re.IGNORECASE)
    for pattern in (_FILE.failed, _FILE.invented, _FILE.claim, _FILE.trouble)
)


class Attribution(msgspec.Struct, frozen=True):
    """Who broke a run, in which turn, and how (`mode`, of the legend).

    `rule`: the one that says so, None of a judge. `agreement`: share of a judge's draws that say
    so; 1 of rules, which always say the same.
    """

    agent: str
    turn: int
    mode: str
    why: str
    rule: str | None = None
    agreement: float = 1.0


def by_rules(trajectory: Trajectory) -> Attribution | None:
    """The earliest turn that the strongest rules suspect; None where no agent did anything."""
    own = own_turns(trajectory)
    if not own:
        return None

    suspected = [*_ungrounded(trajectory, own), *_careless(own), *_ending(trajectory, own)]

    # each kind of rule has its say only where no stronger one has any
    rules = next(
        rules for rules in _FILE.rules.values() if any(name in rules for _, name, _ in suspected)
    )
    turn, name, about = min(
        (found for found in suspected if found[1] in rules), key=lambda found: found[0]
    )
    why = rules[name].why.format(*about)

    return Attribution(agent_of(trajectory, turn), turn, rules[name].mode, why, name)


def agent_of(trajectory: Trajectory, turn: int) -> str:
    """The name of whoever took a turn; `agent` where there is only one, without a name."""
    return trajectory.turns[turn].agent or LONE_AGENT


def own_turns(trajectory: Trajectory) -> list[Turn]:
    """What the agents themselves decided: no greeting that was put there, no person's turn."""
    others = (SampledBy.CANNED, SampledBy.HUMAN)
    return [turn for turn in trajectory.turns if turn.sampled_by not in others]


def _ungrounded(trajectory: Trajectory, own: list[Turn]) -> Iterator[Found]:
    """Unjustified arguments and choices, refused changes, failed executions, invented values.

    What an agent writes as code fails where it is executed: in a turn without calls.
    """
    report = provenance(trajectory)
    for finding in report.unjustified:
        yield finding.turn, "unjustified_argument", (f"{finding.tool}.{finding.path}",)

    for choice in report.choices:
        if choice.unjustified:
            yield choice.turn, "unjustified_choice", (choice.value, choice.candidates)

    # a call that is made again and goes through makes a refusal good
    last_done = {
        call.name: turn.index for turn in own for call in turn.tool_calls if not _fails(turn)
    }
    for turn in own:
        changing = [call.name for call in turn.tool_calls if effectful_by_name(call.name)]
        if _fails(turn) and changing and last_done.get(changing[0], -1) <= turn.index:
            yield turn.index, "refused_call", (changing[0],)
        elif _fails(turn) and not turn.tool_calls:
            yield turn.index, "failed_execution", ()

        found = _INVENTED.search(_said(turn)) if turn.index else None
        if found is not None:
            yield turn.index, "invented", (found[0],)


def _careless(own: list[Turn]) -> Iterator[Found]:
    """Repetition, errors that nobody looks at, claims without a look.

    A turn that calls a tool does something about what stood before it, so only words are looked at.
    """
    seen: set[tuple[str, tuple[str, ...]]] = set()
    for before, turn in zip([None, *own], own, strict=False):
        act = act_digest(turn), tuple(answer.content for answer in turn.observations)
        if act in seen:
            yield turn.index, "repetition", ()

        seen.add(act)
        if before is None or turn.tool_calls:
            continue

        if _fails(before) and not _TROUBLE.search(_said(turn)):
            yield turn.index, "ignored_error", ()

        # what a user said is no look at the state of things
        looked = any(answer.source is not Source.USER for answer in before.observations)
        if not looked and _CLAIM.search(_said(turn)):
            yield turn.index, "unchecked_claim", ()


def _ending(trajectory: Trajectory, own: list[Turn]) -> Iterator[Found]:
    """The task handed over, or never ended; else the last turn that changed something, and where
    none did, the first.
    """
    changing = None

    for turn in own:
        names = [call.name for call in turn.tool_calls]
        if any(first_word(name) in _FILE.handed_over for name in names):
            yield turn.index, "gives_up", ()

        if any(map(effectful_by_name, names)):
            changing = turn.index

    if trajectory.termination in (Termination.TURN_LIMIT, Termination.STUCK):
        yield own[-1].index, "no_end", ()

    if changing is None:
        yield own[0].index, "first_turn", ()
    else:
        yield changing, "last_change", ()


def _fails(turn: Turn) -> bool:
    """Whether an answer to a turn is an error, or opens like one."""
    answers = [answer for answer in turn.observations if answer.source is not Source.USER]
    return any(answer.error or _FAILED.search(answer.content[:400]) for answer in answers)


def _said(turn: Turn) -> str:
    """All that an agent wrote in a turn: thought, text and arguments."""
    calls = (call.arguments for call in turn.tool_calls)
    return "\n".join(filter(None, (turn.thought, turn.content, *calls)))
