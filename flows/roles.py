"""Who plays the roles of a flow: a policy, and the model that it asks. The role `user` is a model
that plays the user of a dialogue world, for every other role.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Literal

from msgspec import structs, to_builtins
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from synth.engine.context import Role
from synth.engine.roles.own_prompts import PROMPTS, own_prompts
from synth.flows.parts import at, or_refusal, part, validated, world
from synth.models.registry import open_model, open_scoring
from synth.models.settings import ModelSettings
from synth.policies.registry import POLICIES
from synth.schemas import (
    USER,
    ConfigError,
    Flow,
    PolicySpec,
    User,
    content_hash,
    explain,
    strictly,
)

_WHERE = f"models.{USER}"
_OF_A_MODEL = frozenset({*ModelSettings.model_fields, "api_key"})


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
    `ConfigError` where its world has no user to play.
    """
    roles = {name: role(name, given) for name, given in flow.models.items()}
    if USER not in roles or flow.env is None:
        return roles
    user = _user(flow, roles[USER], flow.env.name)
    return {
        name: role if name == USER else replace(role, user=user) for name, role in roles.items()
    }


def role(name: str, settings: Mapping[str, Any]) -> Role:
    """Who plays a role: `policy: ...` with its settings, and, where a `model` is named, that
    model.
    """
    where = f"models.{name}"
    rest = _of_the_model(settings) if name == USER else dict(settings)
    policy_name = rest.pop("policy", "chat" if "model" in rest else None)
    if policy_name is None:
        raise ConfigError(f"{where}: name a `policy` ({', '.join(sorted(POLICIES))}) or a `model`")
    with at(where):
        prompts = _prompts(name, rest.pop(PROMPTS, None))
    if "model" not in rest and policy_name != "chat":
        return Role(_policy(where, str(policy_name), rest), None)
    chosen = _model({key: value for key, value in rest.items() if key in _OF_A_MODEL}, where)
    left = {key: value for key, value in rest.items() if key not in _OF_A_MODEL}
    policy = _policy(where, str(policy_name), left, chosen)
    with at(where):
        scoring = partial(open_scoring, chosen)
        return Role(_told(policy, prompts), open_model(chosen), None, scoring, prompts)


def _model(settings: Mapping[str, Any], where: str) -> ModelSettings:
    """Raises `ConfigError` with the place."""
    try:
        return strictly(ModelSettings, settings)
    except ValidationError as error:
        raise ConfigError(explain(error, ModelSettings, where)) from error
    except ConfigError as error:
        raise ConfigError(f"{where}.{error}") from error


def _told(policy: PolicySpec, prompts: Mapping[str, str]) -> PolicySpec:
    """The policy, with a digest of the user's own prompts in the sampling by which a role's work is
    told apart: other words are other work.
    """
    if not prompts:
        return policy
    told = {**policy.sampling, PROMPTS: content_hash(dict(prompts))}
    return structs.replace(policy, sampling=told)


def _prompts(name: str, folder: Any) -> Mapping[str, str]:
    """The user's own prompts. Raises `ConfigError`."""
    if folder is None:
        return {}
    if name == USER:
        raise ConfigError("prompts: what a user is told comes from its world; leave it out")
    if not isinstance(folder, str):
        raise ConfigError("prompts: it is a folder with files such as judge/reward.md")
    return own_prompts(folder)


def _policy(
    where: str, name: str, settings: Mapping[str, Any], model: ModelSettings | None = None
) -> PolicySpec:
    with at(f"{where}.policy"):
        make = part("policy", name, POLICIES)
        if not callable(make):
            raise ConfigError(
                f"{name!r} is of type {type(make).__name__}, not a function that gives a PolicySpec"
            )
    sampling = {} if model is None else to_builtins(model.sampling())
    asked = None if model is None else model.model
    with at(where):
        spec = or_refusal(
            f"policy {name!r}", lambda: make(settings, model_name=asked, sampling=sampling)
        )
    if isinstance(spec, ValidationError):
        # a policy has its settings model, or keeps it beside its function
        config = getattr(make, "config", getattr(make, "__globals__", {}).get(spec.title))
        known = config if isinstance(config, type) and issubclass(config, BaseModel) else None
        also = ["policy", *(ModelSettings.model_fields if model is not None else ["model"])]
        if where == _WHERE:
            also = [*ModelSettings.model_fields, *UserSettings.model_fields]
        raise ConfigError(explain(spec, known, where, also))
    if not isinstance(spec, PolicySpec):
        raise ConfigError(
            f"{where}.policy: {name!r} gave a {type(spec).__name__}, not a PolicySpec"
        )
    return spec


def _of_the_model(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of the role `user` without those that it alone has. Raises `ConfigError` where
    it names no model.
    """
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


def _user(flow: Flow, played: Role, env: str) -> User:
    """The flow's user. Raises `ConfigError` where its world has none to play."""
    script = world(env).user
    if script is None or played.model is None:
        raise ConfigError(
            f"{_WHERE}: world {env!r} has no user that a model could play (EnvEntry.user); "
            "leave the role out"
        )
    given = {
        key: value for key, value in flow.models[USER].items() if key in UserSettings.model_fields
    }
    settings = validated(UserSettings, given, _WHERE)
    return User(
        model=played.model,
        name=str(played.policy.model),
        script=script,
        sampling=played.policy.sampling,
        rewordings=settings.rewordings,
        unfit=settings.unfit,
    )
