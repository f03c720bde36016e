"""The settings of τ²-bench: which domain, which of its tasks."""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from synth.schemas import ConfigError, explain


class Tau2Config(BaseModel):
    """`tasks_from`: the benchmark's own selection, or all that a domain has (telecom: 2,285).
    `transfers`: with the tasks that handing the customer over solves, whatever else was done: a
    policy that always does passes them.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    domain: Literal["telecom", "retail", "airline"] = "telecom"
    tasks_from: Literal["base", "all"] = "base"
    transfers: bool = False


def validated(settings: Mapping[str, Any]) -> Tau2Config:
    """The settings as a config. Raises `ConfigError` that names what is at fault."""
    try:
        return Tau2Config.model_validate(dict(settings))
    except ValidationError as error:
        raise ConfigError(explain(error, Tau2Config, "env")) from error
