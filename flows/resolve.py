"""Binds the names in a flow to parts: worlds, policies, models, stages. The only place that knows all registries."""

import importlib
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from msgspec import to_builtins
from pydantic import BaseModel, ValidationError

from envs.registry import ENVS
from envs.world import World
from filters.registry import FILTERS
from flows.task_stages import task_stages
from flows.yaml_file import explain, read_settings
from schemas.environment import Env, EnvSpec
from schemas.errors import ConfigError
from schemas.filter import Filter
from schemas.flow import Flow, StageChoice
from schemas.policy import PolicySpec
from schemas.stage import Stage
from schemas.task import Task
from synth.exporters.registry import EXPORTERS, SFT_FORMS
from synth.models.registry import open_model
from synth.models.settings import ModelSettings
from synth.policies.registry import POLICIES
from synth.run.context import Role, Run, Synthesizer
from synth.run.export_stage import ExportSettings, ExportStage
from synth.run.filter_stage import FilterStage, NamedFilter
from synthesizers.registry import SYNTHESIZERS

Model = TypeVar("Model", bound=BaseModel)
OWN_STAGES = ("filter", "export")


def part(kind: str, name: str, registry: Mapping[str, str]) -> Any:
    """What a name stands for: a registry entry, else `package.module:attribute` (the current directory comes last on the path)."""
    target = registry.get(name, name)
    module, _, attribute = target.partition(":")
    if not attribute:
        raise ConfigError(f"unknown {kind} {name!r}; known: {', '.join(sorted(registry))}, or your own as package.module:attribute")
    if name not in registry and str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))
    try:
        return getattr(importlib.import_module(module), attribute)
    except ImportError as error:
        raise ConfigError(f"{kind} {name!r}: cannot import {module}: {error}") from error
    except AttributeError as error:
        raise ConfigError(f"{kind} {name!r}: {module} has no {attribute}") from error


def world(name: str) -> World:
    """A world by name. Raises `ConfigError`."""
    found = part("world", name, ENVS)
    if not isinstance(found, World):
        raise ConfigError(f"world {name!r} is a {type(found).__name__}, not an envs.world.World")
    return found


def world_settings(name: str, overrides: Sequence[str]) -> dict[str, Any]:
    """A world's settings from `key=value` pairs, checked to the last key. Raises `ConfigError`."""
    settings, model = read_settings(overrides), world(name).config
    try:
        model.model_validate(settings)
    except ValidationError as error:
        raise ConfigError(f"--set {explain(error, model)}") from error
    return settings


def open_env(name: str, config: Mapping[str, Any]) -> Env:
    """A fresh world; see `schemas.environment.OpenEnv`."""
    return world(name).open(config)


def make_tasks(name: str, config: Mapping[str, Any], seed: int, count: int) -> Sequence[Task]:
    """A world's tasks; see `schemas.environment.MakeTasks`."""
    return world(name).make_tasks(config, seed, count)


def spec_of(name: str, config: Mapping[str, Any]) -> EnvSpec:
    """What a world is."""
    return world(name).spec


def resolve(flow: Flow) -> tuple[Mapping[str, Role], list[Stage[Run]]]:
    """The flow's roles and stages, validated to the last key. Raises `ConfigError`; nothing is written."""
    roles = {name: role(name, settings) for name, settings in flow.models.items()}
    stages: list[Stage[Run]] = []
    if flow.env is not None:
        _validated(world(flow.env.name).config, flow.env.settings(), "env")
    names: Counter[str] = Counter()
    for index, choice in enumerate(flow.stages):
        names[choice.name] += 1
        name = choice.name if names[choice.name] == 1 else f"{choice.name}_{names[choice.name]}"
        stages.append(_stage(name, index, choice, flow, roles))
    if flow.env is None:
        return roles, stages
    return roles, [*task_stages(flow, flow.env, world(flow.env.name), roles, stages), *stages]


def role(name: str, settings: Mapping[str, Any]) -> Role:
    """Who plays a role: `policy: ...` with its settings, and, where a `model` is named, that model."""
    where = f"models.{name}"
    rest = dict(settings)
    policy_name = rest.pop("policy", "chat" if "model" in rest else None)
    if policy_name is None:
        raise ConfigError(f"{where}: name a `policy` ({', '.join(sorted(POLICIES))}) or a `model`")
    if "model" not in rest and policy_name != "chat":
        return Role(_policy(where, str(policy_name), rest, None, {}), None)
    ours = {key: value for key, value in rest.items() if key in ModelSettings.model_fields or key == "api_key"}
    try:
        chosen = ModelSettings.model_validate(ours)
    except ValidationError as error:
        raise ConfigError(explain(error, ModelSettings, where)) from error
    except ConfigError as error:
        raise ConfigError(f"{where}.{error}") from error
    left = {key: value for key, value in rest.items() if key not in ours}
    sampling = to_builtins(chosen.sampling())
    return Role(_policy(where, str(policy_name), left, chosen.model, sampling), open_model(chosen))


def _policy(where: str, name: str, settings: Mapping[str, Any], model: str | None, sampling: Mapping[str, Any]) -> PolicySpec:
    make = part("policy", name, POLICIES)
    try:
        spec: PolicySpec = make(settings, model_name=model, sampling=sampling)
    except ValidationError as error:
        raise ConfigError(_explain_unknown(error, where)) from error
    return spec


def _explain_unknown(error: ValidationError, where: str) -> str:
    """A policy's settings model is known to the policy alone: its first problem, with the place."""
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join([where, *(str(piece) for piece in first["loc"])])
    problem = "is not a setting" if first["type"] == "extra_forbidden" else f": {first['msg']}"
    return f"{place} {problem}".replace(" :", ":")


def _stage(name: str, index: int, choice: StageChoice, flow: Flow, roles: Mapping[str, Role]) -> Stage[Run]:
    where = f"stages[{index}].{choice.name}"
    if choice.name == "filter":
        return FilterStage(name, _filters(choice.settings, where))
    if choice.name == "export":
        return ExportStage(name, _export(choice.settings, where))
    if choice.name not in SYNTHESIZERS and ":" not in choice.name:
        raise ConfigError(f"stages[{index}]: unknown stage {choice.name!r}; known: {', '.join(sorted([*SYNTHESIZERS, *OWN_STAGES]))}")
    synthesizer = part("stage", choice.name, SYNTHESIZERS)
    if not isinstance(synthesizer, Synthesizer):
        raise ConfigError(f"{where}: {choice.name!r} is a {type(synthesizer).__name__}, not a Synthesizer")
    settings = {} if choice.settings is None else choice.settings
    return synthesizer.bind(name, _validated(synthesizer.config, settings, where), flow, roles)


def _filters(settings: Any, where: str) -> list[NamedFilter]:
    """`filter: [solved, {name: {settings}}]`."""
    entries = [settings] if isinstance(settings, str) else settings
    if not isinstance(entries, list) or not entries:
        raise ConfigError(f"{where}: give a list of filters, for instance [solved]; known: {', '.join(sorted(FILTERS))}")
    chosen = []
    for entry in entries:
        named = {entry: None} if isinstance(entry, str) else entry
        if not isinstance(named, dict) or len(named) != 1:
            raise ConfigError(f"{where}: {entry!r} is neither a filter's name nor {{name: {{settings}}}}")
        ((name, given),) = named.items()
        found = part("filter", str(name), FILTERS)
        if not isinstance(found, Filter):
            raise ConfigError(f"{where}: {name!r} is a {type(found).__name__}, not a schemas.filter.Filter")
        chosen.append(NamedFilter(str(name), found, _validated(found.config, given or {}, f"{where}.{name}")))
    return chosen


def _export(settings: Any, where: str) -> ExportSettings:
    config = _validated(ExportSettings, settings or {}, where)
    for kind in config.kinds:
        if kind not in EXPORTERS:
            raise ConfigError(f"{where}.kinds: {kind!r} is not a kind of dataset; known: {', '.join(sorted(EXPORTERS))}")
    if config.form not in SFT_FORMS:
        raise ConfigError(f"{where}.as: {config.form!r} is not a form of sft; known: {', '.join(sorted(SFT_FORMS))}")
    return config


def _validated(model: type[Model], settings: Any, where: str) -> Model:
    try:
        return model.model_validate(settings)
    except ValidationError as error:
        raise ConfigError(explain(error, model, where)) from error
