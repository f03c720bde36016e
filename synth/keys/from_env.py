"""`{from_env: NAME}`: a value that a flow names and never carries; it is read where its process
starts, and nowhere else.
"""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, field_validator

from synth.keys.literals import FROM_ENV
from synth.keys.looks import names_a_variable
from synth.schemas.errors import ConfigError

if TYPE_CHECKING:
    from synth.keys.remover import KeyRemover

SHORTEST = 8
"""Characters from which on a value is looked for in what its process says: a shorter one is found
in words that mean something else.
"""


NO_NAME = (
    f"{FROM_ENV} is the name of an environment variable (such as SHOP_TOKEN), not the value itself"
)


class FromEnv(BaseModel):
    """The name of the environment variable that holds a value, on the machine where the process
    starts.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    from_env: str

    @field_validator("from_env")
    @classmethod
    def _names_a_variable(cls, name: str) -> str:
        if not names_a_variable(name):
            raise ValueError(NO_NAME)
        return name


def _text_or_name(value: Any) -> Any:
    """Pydantic would tell of both branches of the union."""
    if isinstance(value, str | FromEnv):
        return value
    if not isinstance(value, Mapping) or set(value) != {FROM_ENV}:
        raise ValueError(
            f"must be text (in quotes where it looks like a number or yes/no), or {{{FROM_ENV}: "
            "NAME}"
        )
    if not isinstance(value[FROM_ENV], str) or not names_a_variable(value[FROM_ENV]):
        raise ValueError(NO_NAME)
    return FromEnv(from_env=value[FROM_ENV])


EnvironmentValue = Annotated[str | FromEnv, BeforeValidator(_text_or_name)]
"""Of a process's variable: text that is no secret, or the name of the variable of ours that holds
it.
"""


def resolved(
    environment: Mapping[str, str | FromEnv], place: str, environ: Mapping[str, str] = os.environ
) -> "tuple[dict[str, str], KeyRemover]":
    """The variables of a process as it is started, and what takes the named ones out of all that it
    says.

    Raises `ConfigError` where a variable is not set, with the setting's place and the variable's
    name.
    """
    from synth.keys.remover import (
        KeyRemover,
    )  # here: who only reads flows, as in a trainer's environment, needs no RE2

    values, keys = dict[str, str](), dict[str, str]()
    for name, value in environment.items():
        if isinstance(value, str):
            values[name] = value
            continue
        found = environ.get(value.from_env, "")
        if not found:
            raise ConfigError(
                f"{place}.{name}: the environment variable {value.from_env} is not set; export it "
                "where synth runs"
            )
        values[name], keys[f"<{value.from_env}>"] = found, found
    return values, KeyRemover(keys, shortest=SHORTEST)
