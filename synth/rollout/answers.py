"""What a world answered, checked before it is believed: types, finite numbers, text and tools that
a file and a model can take.
"""

import math
from collections.abc import Awaitable, Mapping, Sequence
from datetime import date, time, timedelta
from decimal import Decimal
from numbers import Integral, Real
from typing import Any, TypeVar
from uuid import UUID

import msgspec
from msgspec.structs import replace

from synth.boundary import FaultError
from synth.models.reply_health import unfinished
from synth.schemas import (
    Act,
    CheckResult,
    Env,
    Fault,
    Observation,
    Opening,
    Policy,
    Response,
    ToolCall,
    View,
    Violation,
    answer_violation,
    canonical_json,
    opening_violation,
    valid_text,
)

S = TypeVar("S", bound=msgspec.Struct)

_NO_TEXT = (bytes, bytearray, memoryview, date, time, timedelta, Decimal, UUID)
"""What msgspec would quietly turn into a string."""
_UNFIT = (msgspec.ValidationError, TypeError, ValueError, OverflowError, RecursionError)


class _Function(msgspec.Struct):
    name: str
    description: str = ""
    parameters: dict[str, Any] = {}


class _Tool(msgspec.Struct):
    type: str
    function: _Function


def opened(opening: Opening) -> Opening:
    """The opening of a `reset`, checked. Raises `FaultError` (environment) that names the field."""
    tools = opening.tools if isinstance(opening, Opening) else ()
    untooled = replace(opening, tools=()) if tools else opening
    found = _typed(untooled, Opening, "reset")

    _check_tools(tools)
    _keeps_to(opening_violation(found.observations), "reset")

    return replace(
        storable(found, "system_prompt", "greeting", "state_key"),
        tools=tuple(msgspec.to_builtins(tools)),
        observations=_stored(found.observations),
    )


async def stepped(
    answer: Awaitable[Response], index: int, calls: Sequence[ToolCall] | None
) -> Response:
    """The response of `step` to a turn with these calls, checked; where they are None, its types
    alone.

    Raises `FaultError` (environment) that names the field.
    """
    what = f"step {index}"
    found = _typed(await answer, Response, what)

    if found.reward is not None and not math.isfinite(found.reward):
        raise _wrong(what, f"reward {found.reward}, which is no finite number")

    if calls is not None:
        _keeps_to(answer_violation(calls, found.observations), what)

    observations = _stored(found.observations)
    if observations is not found.observations:
        found = replace(found, observations=observations)
    return storable(found, "state_key")


async def checked(env: Env) -> CheckResult:
    """The result of `check`, checked. Raises `FaultError` (environment) that names the field."""
    found = _typed(await env.check(), CheckResult, "check")

    for path, value in found.facts.items():
        if isinstance(value, float) and not math.isfinite(value):
            raise _wrong("check", f"facts[{path!r}] = {value}, which is no finite number")

    try:
        canonical_json(found)
    except _UNFIT as error:
        raise _wrong("check", f"what cannot be stored: {error}") from error
    return found


async def decided(policy: Policy, view: View) -> Act:
    """What a policy decides, checked. Raises `FaultError` (model) that names the field."""
    found = _typed(await policy.act(view), Act, "policy", Fault.MODEL)

    broken = unfinished(found.finish_reason)
    if broken is not None:
        raise _wrong("policy", f"an act whose reply is unusable: {broken}", Fault.MODEL)

    cost_usd = found.usage.cost_usd if found.usage is not None else None
    for name, number in (("latency_ms", found.latency_ms), ("usage.cost_usd", cost_usd)):
        if number is not None and not 0 <= number < math.inf:
            why = f"{name} {number}, which is no finite number of at least 0"
            raise _wrong("policy", why, Fault.MODEL)
    return found


def _typed(answer: S, kind: type[S], what: str, boundary: Fault = Fault.ENVIRONMENT) -> S:
    """The same, every field of the type that its schema declares; numbers of other libraries become
    plain ones.
    """
    if not isinstance(answer, kind):
        article = "an" if kind.__name__[0] in "AO" else "a"
        raise _wrong(what, f"{type(answer).__name__}, not {article} {kind.__name__}", boundary)

    try:
        plain = msgspec.to_builtins(answer, builtin_types=_NO_TEXT, enc_hook=_plain)
        return msgspec.convert(plain, kind)
    except _UNFIT as error:
        problem, _, place = str(error).partition(" - at `$.")
        where = f"{place.removesuffix('`')}: " if place else ""
        raise _wrong(what, f"{where}{problem}", boundary) from error


def _plain(value: Any) -> Any:
    """Subclasses of text, and numbers of other libraries, as what they stand for."""
    if isinstance(value, str):
        return str.__str__(value)

    if isinstance(value, Integral):
        return int(value)

    if isinstance(value, Real):
        return float(value)
    if type(value).__name__ in ("bool_", "bool") and type(value).__module__ == "numpy":
        return bool(value)

    raise TypeError(f"a value of type {type(value).__name__} is no plain data")


def _check_tools(tools: Sequence[Mapping[str, Any]]) -> None:
    """Tool schemas in OpenAI's form, of which the names differ, and that can be stored."""
    try:
        canonical_json(tools)
        names = [tool.function.name for tool in msgspec.convert(tools, tuple[_Tool, ...])]
    except _UNFIT as error:
        problem, _, place = str(error).partition(" - at `$")
        raise _wrong("reset", f"tools{place.removesuffix('`')}: {problem}") from error

    if len(set(names)) < len(names) or not all(names):
        shown = ", ".join(map(repr, names))
        raise _wrong("reset", f"tools: each needs a name of its own, these have {shown}")


def _keeps_to(violation: Violation | None, what: str) -> None:
    """Raises `FaultError` where a rule of `synth.schemas.environment` is broken."""
    if violation is not None:
        broken = f"{violation.rule}): {violation.what}"
        raise _wrong(what, f"an answer that breaks the protocol ({broken}")


def _stored(observations: tuple[Observation, ...]) -> tuple[Observation, ...]:
    """The observations as they can be stored; the same object where they can."""
    texts = tuple(storable(one, "content", "name", "call_id") for one in observations)

    same = all(new is old for new, old in zip(texts, observations, strict=True))
    return observations if same else texts


def storable(record: S, *names: str) -> S:
    """A struct whose texts can be written as UTF-8: lone surrogates, which JSON escapes can smuggle
    in, are replaced. The same object where there are none.
    """
    texts = {name: text for name in names if not ((text := getattr(record, name)) or "").isascii()}

    if not texts:
        return record
    return replace(record, **{name: valid_text(text) for name, text in texts.items()})


def _wrong(what: str, problem: str, boundary: Fault = Fault.ENVIRONMENT) -> FaultError:
    return FaultError(boundary, f"{what} returned {problem}"[:500])
