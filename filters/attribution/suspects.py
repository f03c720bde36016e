"""Turns that look wrong by the transcript alone, each with the rule that says so and the failure
mode that it stands for.
"""

import re
from collections.abc import Iterator

import msgspec

from synth.schemas.outcome import Termination
from synth.schemas.trajectory import SampledBy, Source, Trajectory, Turn
from synth.text.provenance.effect import effectful_by_name, first_word
from synth.text.provenance.linter import provenance
from synth.text.transcript.acts import act_digest


class Suspect(msgspec.Struct, frozen=True):
    """A turn, the rule, the mode of the legend (`synth.text.failure_modes`), and what shows it."""

    turn: int
    rule: str
    mode: str
    why: str


_FAILED = re.compile(
    r"exit ?code:? [1-9]|execution failed|traceback \(most "
    r"recent|^\s*error\b|^\s*\w*(?:error|exception):",
    re.IGNORECASE,
)
_INVENTED = re.compile(
    r"placeholder|mock(?:ed)? (?:data|up)|dummy|hypothetical|simulat(?:e|ed|ing)|your[_ ]api[_ "
    r"]key|for (?:demonstration|illustration)"
    r"|(?:let's|we(?:'ll| will| can)?|i(?:'ll| will)?) assume|assuming (?:that|the|we|you)",
    re.IGNORECASE,
)
_CLAIM = re.compile(
    r"\b(?:verified|validated|confirmed|is correct|are correct|has been confirmed|accurate)\b",
    re.IGNORECASE,
)
_TROUBLE = re.compile(
    r"error|fail|issue|problem|unable|could ?n[o']t|cannot|sorry|not found|instead|again",
    re.IGNORECASE,
)
_HANDED_OVER = frozenset({"transfer", "escalate", "handoff", "forward"})


def strong(trajectory: Trajectory, own: list[Turn]) -> Iterator[Suspect]:
    """What has no ground or did not work: unjustified arguments, refused changes, failed
    executions, invented values.
    """
    report = provenance(trajectory)
    for finding in report.unjustified:
        yield Suspect(
            finding.turn,
            "unjustified_argument",
            "FM-3.2",
            f"{finding.tool}.{finding.path} was shown by nothing before",
        )
    done = {(at.index, call.name) for at in own for call in at.tool_calls if not _failure(at)}
    for turn in own:
        failure = _failure(turn)
        changing = [call.name for call in turn.tool_calls if effectful_by_name(call.name)]
        if (
            failure
            and changing
            and not any(name == changing[0] and at > turn.index for at, name in done)
        ):
            yield Suspect(
                turn.index,
                "refused_call",
                "FM-1.1",
                f"{changing[0]} was refused and never made good",
            )
        elif failure and not turn.tool_calls:
            yield Suspect(
                turn.index,
                "failed_execution",
                "FM-1.1",
                "what it wrote failed when it was executed",
            )
        found = _INVENTED.search(_said(turn)) if turn.index else None
        if found is not None:
            yield Suspect(turn.index, "invented", "FM-3.2", f"says {found.group(0)!r}")


def middling(trajectory: Trajectory, own: list[Turn]) -> Iterator[Suspect]:
    """What is careless: choices among several, repetition, errors that nobody looks at, claims
    without a look.
    """
    for choice in provenance(trajectory).choices:
        if choice.unjustified:
            yield Suspect(
                choice.turn,
                "unjustified_choice",
                "FM-2.2",
                f"{choice.value!r} was one of {choice.candidates}",
            )
    seen: set[tuple[str, tuple[str, ...]]] = set()
    for before, turn in zip([None, *own[:-1]], own, strict=True):
        act = act_digest(turn), tuple(answer.content for answer in turn.observations)
        if act in seen:
            yield Suspect(
                turn.index, "repetition", "FM-1.3", "the same act with the same answer as before"
            )
        seen.add(act)
        if before is None or turn.tool_calls:
            continue
        if _failure(before) and not _TROUBLE.search(_said(turn)):
            yield Suspect(
                turn.index,
                "ignored_error",
                "FM-3.2",
                "goes on as if the failure before had not been",
            )
        looked = any(answer.source is not Source.USER for answer in before.observations)
        if not looked and _CLAIM.search(_said(turn)):
            yield Suspect(
                turn.index,
                "unchecked_claim",
                "FM-3.3",
                "calls something verified without having looked",
            )


def weak(trajectory: Trajectory, own: list[Turn]) -> Iterator[Suspect]:
    """How it ended: handed over, or never."""
    for turn in own:
        if any(first_word(call.name) in _HANDED_OVER for call in turn.tool_calls):
            yield Suspect(turn.index, "gives_up", "FM-3.1", "hands the task over")
    if trajectory.termination in (Termination.TURN_LIMIT, Termination.STUCK):
        yield Suspect(own[-1].index, "no_end", "FM-1.5", "ran into a limit")


def last_resort(own: list[Turn]) -> Suspect:
    """The last turn that changed something; where none did, the first that somebody answers to."""
    changing = [
        turn for turn in own if any(effectful_by_name(call.name) for call in turn.tool_calls)
    ]
    if changing:
        return Suspect(changing[-1].index, "last_change", "FM-3.2", "nothing else stands out")
    return Suspect(own[0].index, "first_turn", "FM-1.1", "nothing else stands out")


def own_turns(trajectory: Trajectory) -> list[Turn]:
    """What the agents themselves decided."""
    return [
        turn
        for turn in trajectory.turns
        if turn.sampled_by not in (SampledBy.CANNED, SampledBy.HUMAN)
    ]


def _failure(turn: Turn) -> bool:
    answers = [answer for answer in turn.observations if answer.source is not Source.USER]
    return any(answer.error or _FAILED.search(answer.content[:400]) for answer in answers)


def _said(turn: Turn) -> str:
    return "\n".join(
        filter(None, (turn.thought, turn.content, *(call.arguments for call in turn.tool_calls)))
    )


LONE_AGENT = "agent"


class Attribution(msgspec.Struct, frozen=True):
    """Who, when, how. `agreement`: share of a judge's draws that say so; 1 of rules, which always
    say the same.
    """

    agent: str
    turn: int
    mode: str
    why: str
    rule: str | None = None
    agreement: float = 1.0


def by_rules(trajectory: Trajectory) -> Attribution | None:
    """None where no agent did anything."""
    own = own_turns(trajectory)
    if not own:
        return None
    for kind in (strong, middling, weak):
        found = min(kind(trajectory, own), key=lambda suspect: suspect.turn, default=None)
        if found is not None:
            return _attribution(trajectory, found)
    return _attribution(trajectory, last_resort(own))


def agent_of(trajectory: Trajectory, turn: int) -> str:
    """Who took a turn; `agent` where there is only one, without a name."""
    return trajectory.turns[turn].agent or LONE_AGENT


def _attribution(trajectory: Trajectory, suspect: Suspect) -> Attribution:
    return Attribution(
        agent_of(trajectory, suspect.turn), suspect.turn, suspect.mode, suspect.why, suspect.rule
    )
