"""Reflectors made of rules: one that reads the check's findings (gold-informed), one that sees no
more than the agent saw.
"""

import re

from synth.schemas.trajectory import Trajectory, Turn
from synth.synthesizers.reflection.lessons import advice_on_evidence, advice_on_symptoms
from synth.synthesizers.reflection.reflection import Reflection
from synth.synthesizers.reflection.symptoms import Symptom, first_write, symptoms
from synth.text.provenance.effect import effectful_by_name
from synth.text.provenance.objects import is_identifier
from synth.text.transcript.log import first_own_turn

_IN_TURN = re.compile(r"\bin turn (\d+)\b")
_WORD = re.compile(r"[\w-]+")


def informed_reflection(trajectory: Trajectory) -> Reflection | None:
    """A diagnosis by what the check found wrong; None where the attempt passed, or its check gives
    no evidence.

    It looks at gold. Its retries are tagged, and support no claim that reflection works.
    """
    parts = [
        part
        for part in (trajectory.check_result.parts if trajectory.check_result is not None else ())
        if not part.passed
    ]
    lines = [line for part in parts for line in part.evidence]
    if not parts or not lines:
        return None
    suggestion = (
        advice_on_evidence(trajectory.env, lines)
        or f"see to it that {' and '.join(part.name for part in parts)} come out as the task asks"
    )
    return Reflection(
        trajectory_summary=f"{len(trajectory.turns)} steps, ended as {trajectory.termination.value}.",
        root_cause_analysis=f"The check found wrong: {', '.join(part.name for part in parts)}.",
        trajectory_outcome="failure",
        improvement_suggestion=suggestion,
        retry_from_step=_where(trajectory, lines),
    )


def blind_reflection(trajectory: Trajectory) -> Reflection | None:
    """A guess by what the agent could see: the earliest refused call or unconfirmed write, else a
    denial, complaint or repetition.
    """
    found = symptoms(trajectory)
    own = first_own_turn(trajectory)
    if own is None:
        return None
    worst = next(
        (
            s
            for kinds in (("refused", "unconfirmed"), ("denied", "complaint"), ("repeated",))
            for s in found
            if s.kind in kinds
        ),
        None,
    )
    if worst is None:
        at = first_write(trajectory)
        worst = Symptom("unclear", own if at is None else at, "nothing in it looks wrong by itself")
    kinds = list(dict.fromkeys([worst.kind, *(symptom.kind for symptom in found), "unclear"]))
    return Reflection(
        trajectory_summary=f"{len(trajectory.turns)} steps, ended as {trajectory.termination.value}.",
        root_cause_analysis=f"A guess: {worst.words}.",
        trajectory_outcome="failure",
        improvement_suggestion=advice_on_symptoms(trajectory.env, kinds),
        retry_from_step=max(own, worst.turn),
    )


def _where(trajectory: Trajectory, lines: list[str]) -> int:
    """The earliest turn that the findings point to: named in them, or the first write of what they
    name, else the first own turn.
    """
    own, last = first_own_turn(trajectory) or 0, len(trajectory.turns) - 1
    named = [
        int(turn) for line in lines for turn in _IN_TURN.findall(line) if own <= int(turn) <= last
    ]
    for line in lines:
        if not _IN_TURN.search(line):
            things = {word for word in _WORD.findall(line.replace("/", " ")) if is_identifier(word)}
            at = _first_about(trajectory, things, own)
            named += [] if at is None else [at]
    return min(named, default=own)


def _first_about(trajectory: Trajectory, things: set[str], own: int) -> int | None:
    """The first write that names one of the things; else the first turn that does."""
    about = [turn for turn in trajectory.turns if turn.index >= own and _names(turn, things)]
    writes = [
        turn for turn in about if any(effectful_by_name(call.name) for call in turn.tool_calls)
    ]
    return next((turn.index for turn in [*writes, *about]), None)


def _names(turn: Turn, things: set[str]) -> bool:
    return any(thing in call.arguments for call in turn.tool_calls for thing in things)
