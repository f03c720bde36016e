"""`{from_env: NAME}`: a value that a flow names and never carries.

It is read where its process starts, and nowhere else.
"""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, field_validator

from synth.keys.literals import FROM_ENV
from synth.keys.looks import names_a_variable
from synth.schemas import ConfigError

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
    """The name of the variable that holds a value, on the machine where the process starts."""

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

    name = value[FROM_ENV]
    if not isinstance(name, str) or not names_a_variable(name):
        raise ValueError(NO_NAME)

    return FromEnv(from_env=name)


EnvironmentValue = Annotated[str | FromEnv, BeforeValidator(_text_or_name)]
"""Of a process's variable: text that is no secret, or the name of the variable of ours that holds
it.
"""


def resolved(
    environment: Mapping[str, str | FromEnv], place: str, environ: Mapping[str, str] = os.environ
) -> "tuple[dict[str, str], KeyRemover]":
    """The variables of a process as it is started, and what removes the named ones from its words.

    Raises `ConfigError` where a variable is not set, with the setting's place and the variable's
    name.
    """
    # here, since what only reads flows, as a trainer's environment does, needs no RE2
    from synth.keys.remover import KeyRemover

    values, keys = dict[str, str](), dict[str, str]()

    for name, value in environment.items():
        values[name] = value if isinstance(value, str) else environ.get(value.from_env, "")
        if isinstance(value, str):
            continue

        if not values[name]:
            raise ConfigError(
                f"{place}.{name}: the environment variable {value.from_env} is not set; export it "
                "where synth runs"
            )

        keys[f"<{value.from_env}>"] = values[name]

    return values, KeyRemover(keys, shortest=SHORTEST)
