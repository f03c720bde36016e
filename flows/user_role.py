"""The role `user`: a model that plays the user of a dialogue world, for every other role of the
flow.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from synth.engine.context import Role
from synth.flows.parts import world
from synth.schemas.errors import ConfigError
from synth.schemas.flow import Flow
from synth.schemas.settings_error import explain
from synth.schemas.strict_settings import strictly
from synth.schemas.user import USER, User

_WHERE = f"models.{USER}"


class UserSettings(BaseModel):
    """How often a line is asked for again after a wording that departs from it, and what follows
    where none will do: the scripted words,
    or the end of the attempt as a fault.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    rewordings: int = Field(default=2, ge=0, le=10)
    unfit: Literal["script", "fault"] = "script"


def of_the_model(name: str, settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """A role's settings without those that only the role `user` has. Raises `ConfigError` where
    that role names no model.
    """
    if name != USER:
        return settings
    if "model" not in settings:
        raise ConfigError(
            f"{_WHERE}: name a `model` to play the user; without the role the world's own rules "
            "play it"
        )
    if "policy" in settings:
        raise ConfigError(
            f"{_WHERE}.policy: a user has none, what it says is the world's script; leave it out"
        )
    return {key: value for key, value in settings.items() if key not in UserSettings.model_fields}


def with_user(flow: Flow, roles: Mapping[str, Role]) -> Mapping[str, Role]:
    """The roles, each with the flow's user to talk to, if it names one. Raises `ConfigError` where
    its world has no user to play.
    """
    played = roles.get(USER)
    if played is None or played.model is None or flow.env is None:
        return roles
    script = world(flow.env.name).user
    if script is None:
        raise ConfigError(
            f"{_WHERE}: world {flow.env.name!r} has no user that a model could play (EnvEntry.user); "
            "leave the role out"
        )
    given = {
        key: value for key, value in flow.models[USER].items() if key in UserSettings.model_fields
    }
    try:
        settings = strictly(UserSettings, given)
    except ValidationError as error:
        raise ConfigError(explain(error, UserSettings, _WHERE)) from error
    user = User(
        model=played.model,
        name=str(played.policy.model),
        script=script,
        sampling=played.policy.sampling,
        rewordings=settings.rewordings,
        unfit=settings.unfit,
    )
    return {
        name: role if name == USER else replace(role, user=user) for name, role in roles.items()
    }
