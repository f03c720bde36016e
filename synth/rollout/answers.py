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

from synth.boundary import FaultError
from synth.models.reply_health import unfinished
from synth.schemas.canonical import canonical_json, valid_text
from synth.schemas.check import CheckResult
from synth.schemas.environment import Env, Opening, Response
from synth.schemas.outcome import Fault
from synth.schemas.policy import Act, Policy, View
from synth.schemas.protocol import Violation, answer_violation, opening_violation
from synth.schemas.trajectory import Observation, ToolCall

S = TypeVar("S", bound=msgspec.Struct)

_NO_TEXT = (bytes, bytearray, memoryview, date, time, timedelta, Decimal, UUID)
"""What msgspec would quietly turn into a string."""


class _Function(msgspec.Struct):
    name: str
    description: str = ""
    parameters: dict[str, Any] = {}


class _Tool(msgspec.Struct):
    type: str
    function: _Function


async def opened(answer: Awaitable[Opening]) -> Opening:
    """The opening of a `reset`, checked. Raises `FaultError` (environment) that names the field."""
    opening = await answer
    if not isinstance(opening, Opening):
        raise _wrong("reset", f"{type(opening).__name__}, not an Opening")
    tools = opening.tools
    found = _convert(msgspec.structs.replace(opening, tools=()), Opening, "reset")
    _check_tools(tools)
    _keeps_to(opening_violation(found.observations), "reset")
    return msgspec.structs.replace(
        found,
        tools=tuple(msgspec.to_builtins(tools)),
        system_prompt=_text(found.system_prompt),
        greeting=_text(found.greeting),
        state_key=_text(found.state_key),
        observations=tuple(_storable(observation) for observation in found.observations),
    )


async def stepped(
    answer: Awaitable[Response], index: int, calls: Sequence[ToolCall] | None
) -> Response:
    """The response of `step` to a turn with these calls, checked; where they are None, its types
    alone.

    Raises `FaultError` (environment) that names the field.
    """
    response = await answer
    what = f"step {index}"
    if not isinstance(response, Response):
        raise _wrong(what, f"{type(response).__name__}, not a Response")
    found = _convert(response, Response, what)
    if found.reward is not None and not math.isfinite(found.reward):
        raise _wrong(what, f"reward {found.reward}, which is no finite number")
    if calls is not None:
        _keeps_to(answer_violation(calls, found.observations), what)
    if _ascii(found.state_key) and all(
        [_plain_ascii(observation) for observation in found.observations]
    ):
        return found
    observations = tuple(_storable(observation) for observation in found.observations)
    return msgspec.structs.replace(
        found, observations=observations, state_key=_text(found.state_key)
    )


async def checked(env: Env) -> CheckResult:
    """The result of `check`, checked. Raises `FaultError` (environment) that names the field."""
    result = await env.check()
    if not isinstance(result, CheckResult):
        raise _wrong("check", f"{type(result).__name__}, not a CheckResult")
    found = _convert(result, CheckResult, "check")
    for path, value in found.facts.items():
        if isinstance(value, float) and not math.isfinite(value):
            raise _wrong("check", f"facts[{path!r}] = {value}, which is no finite number")
    try:
        canonical_json(found)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise _wrong("check", f"what cannot be stored: {error}") from error
    return found


async def decided(policy: Policy, view: View) -> Act:
    """What a policy decides, checked. Raises `FaultError` (model) that names the field."""
    act = await policy.act(view)
    if not isinstance(act, Act):
        raise FaultError(Fault.MODEL, f"policy returned {type(act).__name__}, not an Act")
    found = _convert(act, Act, "policy", Fault.MODEL)
    broken = unfinished(found.finish_reason)
    if broken is not None:
        raise _wrong("policy", f"an act whose reply is unusable: {broken}", Fault.MODEL)
    for name, number in (
        ("latency_ms", found.latency_ms),
        ("usage.cost_usd", found.usage.cost_usd if found.usage is not None else None),
    ):
        if number is not None and not 0 <= number < math.inf:
            raise _wrong(
                "policy", f"{name} {number}, which is no finite number of at least 0", Fault.MODEL
            )
    return found


def _convert(answer: S, kind: type[S], what: str, boundary: Fault = Fault.ENVIRONMENT) -> S:
    """The same, every field of the type that its schema declares; numbers of other libraries become
    plain ones.
    """
    try:
        return msgspec.convert(
            msgspec.to_builtins(answer, builtin_types=_NO_TEXT, enc_hook=_plain), kind
        )
    except (msgspec.ValidationError, TypeError, ValueError, OverflowError, RecursionError) as error:
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
    except (msgspec.ValidationError, TypeError, ValueError, OverflowError, RecursionError) as error:
        problem, _, place = str(error).partition(" - at `$")
        raise _wrong("reset", f"tools{place.removesuffix('`')}: {problem}") from error
    if len(set(names)) < len(names) or not all(names):
        raise _wrong(
            "reset",
            f"tools: each needs a name of its own, these have {', '.join(map(repr, names))}",
        )


def _keeps_to(violation: Violation | None, what: str) -> None:
    """Raises `FaultError` where a rule of `synth.schemas.protocol` is broken."""
    if violation is not None:
        raise _wrong(
            what, f"an answer that breaks the protocol ({violation.rule}): {violation.what}"
        )


def _storable(observation: Observation) -> Observation:
    """Text that can be written as UTF-8: lone surrogates, which JSON escapes can smuggle in, are
    replaced.
    """
    if _plain_ascii(observation):
        return observation
    return msgspec.structs.replace(
        observation,
        content=valid_text(observation.content),
        name=_text(observation.name),
        call_id=_text(observation.call_id),
    )


def _plain_ascii(observation: Observation) -> bool:
    return (
        observation.content.isascii() and _ascii(observation.name) and _ascii(observation.call_id)
    )


def _ascii(text: str | None) -> bool:
    return text is None or text.isascii()


def _text(text: str | None) -> str | None:
    return None if text is None else valid_text(text)


def _wrong(what: str, problem: str, boundary: Fault = Fault.ENVIRONMENT) -> FaultError:
    return FaultError(boundary, f"{what} returned {problem}"[:500])
