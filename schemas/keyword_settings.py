"""The settings of a part that is written as one function: its keyword parameters."""

import inspect
from collections.abc import Callable
from typing import Any

from pydantic import BaseModel, ConfigDict, create_model
from pydantic.errors import PydanticUserError

from synth.schemas.errors import ConfigError


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
