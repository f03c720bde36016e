"""Settings that people wrote: taken as they stand, or read off the keyword parameters of a
function, and refused in one line of plain words (where, what it must be, which keys are allowed).
"""

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, ValidationError, create_model
from pydantic.errors import PydanticUserError
from pydantic_core import ErrorDetails, SchemaValidator

from synth.schemas.errors import ConfigError

Model = TypeVar("Model", bound=BaseModel)
_SCALARS = frozenset({"int", "float", "bool", "str"})


def strictly(model: type[Model], content: object) -> Model:
    """The settings as the model has them. Raises pydantic's `ValidationError`.

    Pydantic's own strictness would refuse lists for tuples and text for paths too, which YAML has
    no other way to write.
    """
    found: Model = _validator(model).validate_python(content)
    return found


@cache
def _validator(model: type[BaseModel]) -> SchemaValidator:
    model.model_rebuild()
    return SchemaValidator(
        _strict(model.__pydantic_core_schema__), _use_prebuilt=False
    )  # else models bring their own


def _strict(schema: Any) -> Any:
    """A schema in which plain values are taken from their own types only."""
    if isinstance(schema, Mapping):
        changed = {
            name: _strict(part) if name != "metadata" else part for name, part in schema.items()
        }
        return {**changed, "strict": True} if schema.get("type") in _SCALARS else changed
    if isinstance(schema, list | tuple):
        return type(schema)(_strict(part) for part in schema)
    return schema


def given(settings: BaseModel) -> dict[str, Any]:
    """What a function is called with: each setting by its name."""
    return {name: getattr(settings, name) for name in type(settings).model_fields}


def keyword_settings(function: Callable[..., Any], decorator: str, first: str) -> type[BaseModel]:
    """The settings model of the keyword parameters of a function that `@decorator` stands over, and
    whose first parameter is the `first`. Raises `ConfigError`.
    """
    where = f"@{decorator} {getattr(function, '__name__', function)}"
    if not inspect.iscoroutinefunction(function):
        raise ConfigError(f"{where}: write it as `async def`")
    try:
        what, *settings = inspect.signature(function, eval_str=True).parameters.values()
    except ValueError as error:
        raise ConfigError(f"{where}: takes no parameter; the first is the {first}") from error
    except NameError as error:
        raise ConfigError(f"{where}: an annotation cannot be read: {error}") from error
    if what.kind not in (
        inspect.Parameter.POSITIONAL_ONLY,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
    ):
        raise ConfigError(f"{where}: the first parameter is the {first}, `{what.name}` cannot be")

    fields = {one.name: _field(where, one) for one in settings}
    config = ConfigDict(frozen=True, extra="forbid", validate_default=True, protected_namespaces=())
    try:
        return create_model(
            _name_of(function), __config__=config, __doc__=function.__doc__, **fields
        )
    except (PydanticUserError, NameError, TypeError) as error:
        raise ConfigError(
            f"{where}: its parameters make no settings: {str(error).splitlines()[0]}"
        ) from error


def _field(where: str, parameter: inspect.Parameter) -> Any:
    if parameter.kind is not inspect.Parameter.KEYWORD_ONLY:
        raise ConfigError(
            f"{where}: parameter `{parameter}` is no keyword; write the settings after `*`, each "
            "by name"
        )
    if parameter.annotation is inspect.Parameter.empty:
        raise ConfigError(
            f"{where}: parameter `{parameter.name}` has no annotation; write for instance "
            f"{parameter.name}: int"
        )
    if parameter.name.startswith("_") or hasattr(BaseModel, parameter.name):
        raise ConfigError(
            f"{where}: parameter `{parameter.name}` has a name that settings cannot have; choose "
            "another"
        )
    default = ... if parameter.default is inspect.Parameter.empty else parameter.default
    return (parameter.annotation, default)


def _name_of(function: Callable[..., Any]) -> str:
    return "".join(part.capitalize() for part in function.__name__.split("_")) + "Settings"


_MAPPING = "must be a mapping of settings"
_LIST = "must be a list"
_PLAIN: Mapping[str, str] = {
    "missing": "is missing",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_parsing_size": "must be a whole number of a size that a file can hold",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "finite_number": "must be a finite number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "string_type": "must be text (in quotes where it looks like a number, a date or yes/no)",
    "string_unicode": "must be valid Unicode text",
    "string_pattern_mismatch": "must look like {pattern}",
    "string_too_short": "must have at least {min_length} characters",
    "string_too_long": "must have at most {max_length} characters",
    "greater_than": "must be more than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be at most {le}",
    "too_short": "must have at least {min_length} entries",
    "too_long": "must have at most {max_length} entries",
    "literal_error": "must be one of {expected}",
    "enum": "must be one of {expected}",
    "none_required": "must be left out",
    "list_type": _LIST,
    "tuple_type": _LIST,
    "set_type": _LIST,
    "frozen_set_type": _LIST,
    "dict_type": _MAPPING,
    "mapping_type": _MAPPING,
    "model_type": _MAPPING,
    "model_attributes_type": _MAPPING,
    "dataclass_type": _MAPPING,
    "value_error": "{error}",
    "assertion_error": "{error}",
}
"""Pydantic's kinds of errors in words that need no knowledge of Python; braces are filled from the
error's own context.
"""


def explain(
    error: ValidationError,
    model: type[BaseModel] | None = None,
    prefix: str = "",
    also: Iterable[str] = (),
) -> str:
    """The first problem of `error`, a mistyped key before a missing one; `also` are keys that are
    allowed beside those of `model`.

    The input is never shown: it may be a key.
    """
    problems = error.errors(include_url=False, include_input=False)
    mistyped = [problem for problem in problems if problem["type"] == "extra_forbidden"]
    first = (mistyped or problems)[0] if problems[0]["type"] == "missing" else problems[0]
    kind, location = first["type"], first["loc"]
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    words = _words(first)
    at_key = location[-1:] == ("[key]",)
    if kind == "invalid_key" or at_key:
        place = _place(prefix, location[:-1] if at_key else location)
        # a text, but none of those that are allowed as keys
        if kind in _PLAIN and kind != "string_type":
            return f"{place} is not a setting: a key {words}{more}"
        return f"{place}: a key here is no text; put it in quotes{more}"

    place = _place(prefix, location)
    if kind == "extra_forbidden":
        return f"{place} is not a setting{allowed(model, location[:-1], also)}{more}"
    if kind == "missing":
        return f"{place} is missing{more}"
    keys = allowed(model, location, also) if words == _MAPPING else ""
    return f"{place}: {words}{keys}{more}"


def _words(problem: ErrorDetails) -> str:
    """What is wrong, in plain words."""
    if problem["type"] not in _PLAIN:
        return problem["msg"].replace("Input should be", "must be")
    context = {
        name: f"{value:g}" if isinstance(value, float) else value
        for name, value in problem.get("ctx", {}).items()
    }
    return _PLAIN[problem["type"]].format(**context)


def allowed(
    model: type[BaseModel] | None, location: Sequence[int | str], also: Iterable[str] = ()
) -> str:
    """`; allowed: a, b` for the keys at a place in the input; empty where no model is known for
    it.
    """
    found = _model_at(model, location)
    if found is None:
        return ""
    names = {field.alias or name for name, field in found.model_fields.items()}
    known = names if location else names.union(also)
    return f"; allowed: {', '.join(sorted(known)) or 'none'}"


def _place(prefix: str, location: Sequence[int | str]) -> str:
    path = prefix + "".join(
        f"[{part}]" if isinstance(part, int) else f".{part}" for part in location
    )
    return path.lstrip(".") or "the settings"


def _model_at(
    model: type[BaseModel] | None, location: Sequence[int | str]
) -> type[BaseModel] | None:
    """The settings model that a place in the input belongs to; None where that is no model."""
    for part in location:
        if isinstance(part, str) and model is not None:  # the model of a list's entry is the list's
            fields = model.model_fields
            named = [fields[part]] if part in fields else []
            named += [field for field in fields.values() if field.alias == part]
            model = next((one for field in named[:1] for one in _models_in(field.annotation)), None)
    return model


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _models_in(inner)
