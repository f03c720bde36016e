"""A tool as its method declares it: a schema, and calls held to it before the method runs."""

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from types import (
    GenericAlias,
    NoneType,
    UnionType,
)
from typing import (
    Annotated,
    Any,
    Literal,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import msgspec
from pydantic import (
    BeforeValidator,
    Field,
    TypeAdapter,
    ValidationError,
)

from synth.envs.episode import tool_schema
from synth.schemas import ConfigError, ToolCall, ToolSchema, valid_text

LONGEST_ERROR = 500
"""Characters of an error that a model is shown."""
LARGEST_INT = 2**53
"""Beyond it JSON readers disagree, and a ledger holds 64 bits."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_PLAIN: Mapping[Any, tuple[ToolSchema, Any]] = {
    str: ({"type": "string"}, str),
    bool: ({"type": "boolean"}, bool),
    int: ({"type": "integer"}, Annotated[int, Field(ge=-LARGEST_INT, le=LARGEST_INT)]),
    float: ({"type": "number"}, Annotated[float, Field(allow_inf_nan=False)]),
}
_ARGUMENTS = msgspec.json.Decoder(dict[str, msgspec.Raw])


class ToolError(Exception):
    """What a tool refuses, and why: the agent reads the message, and the call changes nothing."""


@dataclass(frozen=True)
class ToolArgument:
    """One argument of a tool."""

    schema: ToolSchema
    adapter: TypeAdapter[Any]
    required: bool


@dataclass(frozen=True)
class ToolSignature:
    """One tool of an environment; see `synth.envs.tool_env.kit.tool` for `read_only` and `ends`."""

    name: str
    description: str
    arguments: Mapping[str, ToolArgument]
    read_only: bool
    ends: bool

    def schema(self) -> ToolSchema:
        """As a model is shown it."""

        parameters = {
            "type": "object",
            "properties": {name: argument.schema for name, argument in self.arguments.items()},
            "required": [name for name, argument in self.arguments.items() if argument.required],
        }

        return tool_schema(self.name, self.description, parameters)

    def parsed(self, call: ToolCall) -> dict[str, Any]:
        """The arguments of a call, each of its declared type; those left out are left to the
        method's defaults.

        Raises `ToolError` with the first thing that is wrong, in words for the agent.
        """

        if call.parse_error is not None:
            raise ToolError(call.parse_error)
        given = _ARGUMENTS.decode(call.arguments)
        takes = f"{self.name} takes {', '.join(self.arguments) or 'no arguments'}"
        for name in given.keys() - self.arguments.keys():
            raise ToolError(f"{takes}; there is no argument {readable(name, 80)!r}.")
        for name, argument in self.arguments.items():
            if argument.required and name not in given:
                raise ToolError(f"{takes}; {name} is missing.")

        return {name: self._value(name, bytes(raw)) for name, raw in given.items()}

    def _value(self, name: str, raw: bytes) -> Any:
        try:
            return self.arguments[name].adapter.validate_json(raw, strict=True)
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False, include_input=False)[0]
            place = "".join(f"[{part}]" for part in first["loc"] if isinstance(part, int))
            raise ToolError(f"{self.name}: {name}{place}: {first['msg']}.") from error


def tool_of(
    name: str,
    method: Callable[..., object],
    *,
    read_only: bool,
    ends: bool,
) -> ToolSignature:
    """The tool that a method declares.

    Raises `ConfigError` for one that no schema can express, and for one without a docstring.
    """

    where = method.__qualname__
    if not (method.__doc__ or "").strip():
        raise ConfigError(f"{where}: no docstring; the agent reads it as the tool's description")
    if inspect.iscoroutinefunction(method) or inspect.isgeneratorfunction(method):
        raise ConfigError(f"{where}: a tool is a plain method, without async and yield")
    try:
        hints = get_type_hints(method, include_extras=True)
    except NameError as error:
        raise ConfigError(f"{where}: {error}, which an annotation names") from error

    arguments = {}
    for parameter in list(inspect.signature(method).parameters.values())[1:]:
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise ConfigError(f"{where}: {parameter}: arguments have names, so no * and no /")
        if parameter.name not in hints:
            raise ConfigError(f"{where}: {parameter.name} has no annotation, such as str or int")
        schema, checked = expressed(hints[parameter.name], f"{where}: {parameter.name}")
        required = parameter.default is parameter.empty
        arguments[parameter.name] = ToolArgument(schema, TypeAdapter(checked), required)

    return ToolSignature(
        name,
        inspect.cleandoc(method.__doc__ or ""),
        arguments,
        read_only,
        ends,
    )


def expressed(annotation: Any, where: str) -> tuple[ToolSchema, Any]:
    """(JSON schema, type that pydantic checks) of an annotation.

    Raises `ConfigError` for a type that models could not be told of in few words: mappings, unions
    of other than None, classes.
    """

    if annotation in (str, int, float, bool):
        return _PLAIN[annotation]
    parts, origin = get_args(annotation), get_origin(annotation)
    if origin is Literal and all(type(part) in (str, int, bool) for part in parts):
        return _choices(annotation, parts)

    if origin is list and len(parts) == 1:
        schema, checked = expressed(parts[0], where)
        return {"type": "array", "items": schema}, GenericAlias(list, (checked,))

    if origin in (Union, UnionType) and len(parts) == 2 and NoneType in parts:
        schema, checked = expressed(next(part for part in parts if part is not NoneType), where)
        return {"anyOf": [schema, {"type": "null"}]}, checked | None

    if isinstance(annotation, type) and issubclass(annotation, Enum):
        values = [member.value for member in annotation]
        if values and all(type(value) is str for value in values):
            return {"type": "string", "enum": values}, annotation

    raise _inexpressible(annotation, where)


def _inexpressible(annotation: Any, where: str) -> ConfigError:
    shown = inspect.formatannotation(annotation)
    allowed = "str, int, float, bool, Literal, list[...], an Enum of strings, or one of them | None"
    return ConfigError(f"{where}: {shown} is no type of a tool's argument; take {allowed}")


def _choices(annotation: Any, parts: tuple[Any, ...]) -> tuple[ToolSchema, Any]:
    """(JSON schema, type that pydantic checks) of a `Literal`."""

    kinds = {type(part) for part in parts}
    typed = _PLAIN[next(iter(kinds))][0] if len(kinds) == 1 else {}
    # pydantic takes true for 1; None is no part of any Literal here, so it is refused
    exact = BeforeValidator(lambda given: given if type(given) in kinds else None)

    return {**typed, "enum": list(parts)}, Annotated[annotation, exact]


def readable(text: str, most: int = LONGEST_ERROR) -> str:
    """An error as a model is shown it: no control characters, and not longer than it is of use."""
    shown = _CONTROL.sub("\ufffd", valid_text(text[: most + 1]))
    return shown if len(text) <= most else f"{shown[:most]} ..."
