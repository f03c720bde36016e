"""Who plays the roles of a flow: a policy, and the model that it asks. The role `user` is a model that
plays the user of a dialogue world, for every other role.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Literal

from msgspec import to_builtins
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from synth.engine.context import Role
from synth.flows.parts import at, or_refusal, part, validated, world
from synth.models.registry import open_model, open_scoring
from synth.models.settings import ModelSettings
from synth.policies.registry import POLICIES
from synth.schemas.errors import ConfigError
from synth.schemas.flow import Flow
from synth.schemas.policy import PolicySpec
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


def roles_of(flow: Flow) -> Mapping[str, Role]:
    """All that a flow names, each with the flow's user to talk to, if it names one. Raises
    `ConfigError`.
    """
    named = {name: role(name, _of_the_model(name, given)) for name, given in flow.models.items()}
    return _with_user(flow, named)


def role(name: str, settings: Mapping[str, Any]) -> Role:
    """Who plays a role: `policy: ...` with its settings, and, where a `model` is named, that
    model.
    """
    where = f"models.{name}"
    rest = dict(settings)
    policy_name = rest.pop("policy", "chat" if "model" in rest else None)
    if policy_name is None:
        raise ConfigError(f"{where}: name a `policy` ({', '.join(sorted(POLICIES))}) or a `model`")
    if "model" not in rest and policy_name != "chat":
        return Role(_policy(where, str(policy_name), rest, None, {}), None)
    ours = {
        key: value
        for key, value in rest.items()
        if key in ModelSettings.model_fields or key == "api_key"
    }
    try:
        chosen = strictly(ModelSettings, ours)
    except ValidationError as error:
        raise ConfigError(explain(error, ModelSettings, where)) from error
    except ConfigError as error:
        raise ConfigError(f"{where}.{error}") from error
    left = {key: value for key, value in rest.items() if key not in ours}
    sampling = to_builtins(chosen.sampling())
    policy = _policy(where, str(policy_name), left, chosen.model, sampling)
    with at(where):
        return Role(policy, open_model(chosen), open_scoring=partial(open_scoring, chosen))


def _policy(
    where: str,
    name: str,
    settings: Mapping[str, Any],
    model: str | None,
    sampling: Mapping[str, Any],
) -> PolicySpec:
    with at(f"{where}.policy"):
        make = part("policy", name, POLICIES)
        if not callable(make):
            raise ConfigError(
                f"{name!r} is of type {type(make).__name__}, not a function that gives a PolicySpec"
            )
    with at(where):
        spec = or_refusal(
            f"policy {name!r}", lambda: make(settings, model_name=model, sampling=sampling)
        )
    if isinstance(spec, ValidationError):
        config = getattr(make, "__globals__", {}).get(
            spec.title
        )  # a policy keeps its settings model beside its function
        also = ["policy", *(ModelSettings.model_fields if model is not None else ["model"])]
        also = (
            [*ModelSettings.model_fields, *UserSettings.model_fields]
            if where == f"models.{USER}"
            else also
        )
        known = config if isinstance(config, type) and issubclass(config, BaseModel) else None
        raise ConfigError(explain(spec, known, where, also))
    if not isinstance(spec, PolicySpec):
        raise ConfigError(
            f"{where}.policy: {name!r} gave a {type(spec).__name__}, not a PolicySpec"
        )
    return spec


def _of_the_model(name: str, settings: Mapping[str, Any]) -> Mapping[str, Any]:
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


def _with_user(flow: Flow, roles: Mapping[str, Role]) -> Mapping[str, Role]:
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
    settings = validated(UserSettings, given, _WHERE)
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
