"""A filter written as one function: its keyword parameters are the settings that a flow may
give.
"""

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, Concatenate, ParamSpec

from pydantic import BaseModel, ConfigDict, create_model
from pydantic.errors import PydanticUserError

from synth.schemas.errors import ConfigError
from synth.schemas.filtering import Case, Filter
from synth.schemas.verdict import Verdict

P = ParamSpec("P")
Judging = Callable[Concatenate[Case, P], Awaitable[Verdict]]


def filter(*, version: int = 1, opens: bool = False) -> Callable[[Judging[P]], Filter]:
    """Makes `async def short(case: Case, *, longest: int = 20) -> Verdict` a filter, in a flow
    `package.module:short`.

    Keyword parameters are its settings, each with an annotation; those without a default must be
    given. Raise
    `version` where the function decides otherwise than before: it then judges everything anew.
    `opens`: it opens
    environments (`case.open_env`). Raises `ConfigError` for a function that cannot be one.
    """

    def made(function: Judging[P]) -> Filter:
        return Filter(
            config=_settings_of(function), judge=_judging(function), version=version, opens=opens
        )

    return made


def _judging(function: Callable[..., Awaitable[Verdict]]) -> Callable[..., Awaitable[Verdict]]:
    async def judge(case: Case, settings: BaseModel) -> Verdict:
        given = {name: getattr(settings, name) for name in type(settings).model_fields}
        return await function(case, **given)

    return judge


def _settings_of(function: Callable[..., Any]) -> type[BaseModel]:
    """The settings model of a function's keyword parameters. Raises `ConfigError`."""
    where = f"@filter {getattr(function, '__name__', function)}"
    if not inspect.iscoroutinefunction(function):
        raise ConfigError(f"{where}: write it as `async def`")
    try:
        case, *settings = inspect.signature(function, eval_str=True).parameters.values()
    except ValueError as error:
        raise ConfigError(f"{where}: takes no parameter; the first is the case") from error
    except NameError as error:
        raise ConfigError(f"{where}: an annotation cannot be read: {error}") from error
    if case.kind not in (
        inspect.Parameter.POSITIONAL_ONLY,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
    ):
        raise ConfigError(f"{where}: the first parameter is the case, `{case.name}` cannot be")
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
