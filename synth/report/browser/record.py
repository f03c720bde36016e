"""A trajectory as the page holds it: what a reader looks at, texts by number, and keys that tell
where two of them part.
"""

import base64
from collections.abc import Callable, Sequence
from hashlib import blake2b
from math import isfinite
from typing import Any

import msgspec

from synth.report.browser.texts import Texts
from synth.schemas import CheckResult, Observation, Trajectory, Turn, Wording, canonical_json
from synth.text.transcript.divergence import done, seen

Row = dict[str, Any]
KEY_BYTES = 6
DIGITS = 4


class About(msgspec.Struct, frozen=True):
    """What the tables say of a trajectory: (metric, turn, value, detail) and (filter, keep, reason,
    score, detail); details as JSON.
    """

    scores: Sequence[tuple[str, int | None, float | None, str | None]] = ()
    decisions: Sequence[tuple[str, bool | None, str, float | None, str | None]] = ()


def record(trajectory: Trajectory, about: About, texts: Texts, shown: Callable[[str], str]) -> Row:
    """The trajectory and what is said of it; `shown` takes out of a detail what may not stand on
    the page.
    """
    return {
        **_opening(trajectory, texts),
        **_said(
            turns=[_turn(turn, texts) for turn in trajectory.turns],
            guidance=texts.number(trajectory.guidance),
            fault=texts.number(trajectory.fault_detail),
            check=_check(trajectory.check_result, texts),
        ),
        **_sampled(trajectory),
        **_judged(about, texts, shown),
    }


def _opening(t: Trajectory, texts: Texts) -> Row:
    """What the agent was shown first, and keys of it to compare two trajectories by."""
    return _said(
        prompt=texts.number(t.system_prompt),
        tools=texts.number(msgspec.json.encode(t.tools).decode()) if t.tools else None,
        opening=[_observation(one, texts) for one in t.opening],
        opened=texts.number(_key([t.system_prompt, list(t.tools), [seen(o) for o in t.opening]])),
        began=texts.number(_key(t.opening_state_key)),
    )


def _sampled(t: Trajectory) -> Row:
    """How it was sampled, and what it took."""
    return _said(
        sampling=rounded(dict(t.sampling)) or None,
        seed=t.seed,
        tokens=[t.totals.prompt_tokens, t.totals.completion_tokens, t.totals.calls],
        cost=_finite(t.totals.cost_usd),
        unpriced=t.totals.unpriced,
        created=t.created_at,
    )


def _judged(about: About, texts: Texts, shown: Callable[[str], str]) -> Row:
    """What stages and filters have said of it since."""

    def detail(text: str | None) -> int | None:
        if text is None:
            return None

        brief = canonical_json(rounded(msgspec.json.decode(text))).decode()

        return texts.number(shown(brief))

    return _said(
        scores=[
            [metric, turn, number(value), detail(more)]
            for metric, turn, value, more in about.scores
        ],
        decisions=[
            [name, keep, reason, number(score), detail(more)]
            for name, keep, reason, score, more in about.decisions
        ],
    )


def number(value: float | None) -> float | None:
    """Four significant digits; None where it is undefined."""
    return None if value is None or not isfinite(value) else float(f"{value:.{DIGITS}g}")


def _finite(value: float | None) -> float | None:
    return value if value is not None and isfinite(value) else None


def rounded(value: Any) -> Any:
    """The same value with its fractions at four significant digits: they are looked at here, the
    ledger has them whole.
    """
    return _with_floats(value, number)


def _with_floats(value: Any, write: Callable[[float], float | None]) -> Any:
    """The same value, each float in it written in another way."""
    if isinstance(value, float):
        return write(value)
    if isinstance(value, list):
        return [_with_floats(one, write) for one in value]
    if isinstance(value, dict):
        return {name: _with_floats(one, write) for name, one in value.items()}
    return value


def _turn(turn: Turn, texts: Texts) -> Row:
    # what was done, what was seen, and the state after it
    keys = (_with_floats(done(turn), _alike), [seen(o) for o in turn.observations], turn.state_key)

    return _said(
        at=turn.index,
        keys=[texts.number(_key(key)) for key in keys],
        # who took the turn, and what carries no loss
        agent=turn.agent,
        by=None if turn.sampled_by == "policy" else turn.sampled_by,
        mask=turn.mask,
        injected=turn.injected,
        reward=_finite(turn.reward),
        # what was thought, said and called, and what came back
        thought=texts.number(turn.thought),
        said=texts.number(turn.content),
        calls=[
            [texts.number(call.name), texts.number(call.arguments), call.parse_error]
            for call in turn.tool_calls
        ],
        seen=[_observation(one, texts) for one in turn.observations],
        # what it took
        tokens=None
        if turn.usage is None
        else [turn.usage.prompt_tokens, turn.usage.completion_tokens],
        ms=None if turn.latency_ms is None else round(turn.latency_ms),
        repairs=list(turn.repairs),
    )


def _observation(one: Observation, texts: Texts) -> Row:
    return _said(
        source=one.source,
        name=one.name,
        text=texts.number(one.content),
        error=one.error,
        planted=None
        if one.planted is None
        else [texts.number(one.planted.content), one.planted.error],
        wording=None if one.wording is None else _wording(one.wording, texts),
    )


def _wording(wording: Wording, texts: Texts) -> Row:
    return {
        "model": wording.model,
        "scripted": texts.number(wording.scripted),
        "fell": wording.fell_back,
        "down": [
            [", ".join(dict.fromkeys(d.kind for d in one.deviations)), texts.number(one.text)]
            for one in wording.turned_down
        ],
    }


def _check(result: CheckResult | None, texts: Texts) -> Row | None:
    if result is None:
        return None

    parts = [
        [part.name, part.passed, [texts.number(line) for line in part.evidence]]
        for part in result.parts
    ]

    return {"passed": result.passed, "parts": parts}


def _key(value: Any) -> str:
    """Short, equal for equal values; of 10,000 pairs of turns that differ, 1 in 10^10 is taken to
    be the same.
    """
    return base64.b64encode(blake2b(canonical_json(value), digest_size=KEY_BYTES).digest()).decode()


def _alike(value: float) -> float:
    """Equal numbers are written alike: 1.0 as 1."""
    return int(value) if value.is_integer() else value


def _said(**fields: Any) -> Row:
    """The fields that say something."""
    return {
        name: value
        for name, value in fields.items()
        if value is not None and value is not False and value != []
    }
