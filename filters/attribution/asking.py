"""What a judge is asked: about the whole log at once, or step after step until it calls one
decisive (Who&When, arXiv 2505.00212).
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from synth.engine.asking import RoleRequest, UnreadableError, json_reply, prompt, response_form
from synth.filters.attribution.suspects import Attribution, agent_of, own_turns
from synth.filters.judge import about_run
from synth.schemas import Case, Completion, Trajectory, content_hash, valid_text
from synth.text.failure_modes import MODES
from synth.text.transcript.log import quoted

LONGEST_REASON = 1000
"""Characters of a judge's reason that are kept."""


class _Whole(msgspec.Struct, forbid_unknown_fields=True):
    """What is answered about the whole log."""

    reason: str
    agent: str
    step: int
    mode: str


class _ShownStep(msgspec.Struct, forbid_unknown_fields=True):
    """What is answered about one step; `mode` is null where it is not decisive."""

    reason: str
    decisive: bool
    mode: str | None


def about_all(case: Case, draw: int, temperature: float) -> RoleRequest:
    """One question about the whole log; the steps that may be named are listed with their
    agents.
    """
    trajectory = case.trajectory
    own = [turn.index for turn in own_turns(trajectory)]
    steps = quoted([{"step": turn, "agent": agent_of(trajectory, turn)} for turn in own])
    asked = f"Steps that agents took:\n{steps}\n\n{prompt('judge/attribution_whole')}"

    asks = "attribution all at once", response_form("attribution", _Whole)
    return _question(*asks, case, trajectory, asked, draw, temperature)


def about_step(case: Case, turn: int, draw: int, temperature: float) -> RoleRequest:
    """One question about one step, of the log as far as that step: what came of it is not shown."""
    shown = msgspec.structs.replace(case.trajectory, turns=case.trajectory.turns[: turn + 1])
    agent = quoted(agent_of(case.trajectory, turn))
    asked = prompt("judge/attribution_step").format(turn, turn, agent)
    asks = "attribution step by step", response_form("attribution_step", _ShownStep)
    return _question(*asks, case, shown, asked, draw, temperature)


def _question(
    purpose: str,
    form: Mapping[str, Any],
    case: Case,
    shown: Trajectory,
    asked: str,
    draw: int,
    temperature: float,
) -> RoleRequest:
    """One draw; equal questions are told apart by their number, which gives each a seed of its
    own.
    """
    modes = "\n".join(f"{code}: {mode.name}: {mode.meaning}" for code, mode in MODES.items())
    system = f"{prompt('judge/attribution')}\n\nKinds of mistakes:\n{modes}"
    drawn_by = [purpose, shown.trajectory_id, len(shown.turns), draw]
    seed = int(content_hash(drawn_by, size=4), 16) % 2**31
    sampling = {"temperature": temperature, "seed": seed}

    about = {"sampling": sampling, "draw": draw, "form": form}
    return about_run(purpose, case, shown, system, asked, **about)


def read_all(trajectory: Trajectory, completion: Completion) -> Attribution:
    """The attribution that a reply about the whole log makes.

    Raises `UnreadableError` for another form, a step that no agent took, another agent's name, an
    unknown mode.
    """
    said = json_reply(completion, _Whole)

    if said.step not in {turn.index for turn in own_turns(trajectory)}:
        raise UnreadableError(f"step {said.step} is none that an agent took")

    agent = agent_of(trajectory, said.step)
    if said.agent != agent:
        raise UnreadableError(f"step {said.step} is by {agent}, not by {said.agent[:60]}")

    return _attribution(trajectory, said.step, said.mode, said.reason)


def read_step(trajectory: Trajectory, turn: int, completion: Completion) -> Attribution | bool:
    """The attribution to this step, or False where the judge says it is not the one.

    Raises `UnreadableError` for another form, and for a decisive step without a known mode.
    """
    said = json_reply(completion, _ShownStep)
    return said.decisive and _attribution(trajectory, turn, said.mode or "", said.reason)


def _attribution(trajectory: Trajectory, turn: int, mode: str, reason: str) -> Attribution:
    """Raises `UnreadableError` for a mode that the legend does not have."""
    if mode not in MODES:
        raise UnreadableError(f"mode {mode[:20]!r} is none of {', '.join(MODES)}")
    why = valid_text(reason)[:LONGEST_REASON]
    return Attribution(agent_of(trajectory, turn), turn, mode, why)
