"""The stages that a flow names, bound to their parts. What judges trajectories stands behind all
that makes them, and exports behind what they write about.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic import BaseModel

from synth.engine.context import Role
from synth.engine.runs.measure_cache import BoundFilter
from synth.engine.study.method import Method
from synth.engine.study.stage import MethodStage, bound_stage
from synth.envs.world import EnvEntry
from synth.exporters.registry import require
from synth.filters.registry import FILTERS
from synth.flows.parts import at, part, target_of, validated
from synth.flows.stages.export import ExportSettings, exports_among
from synth.schemas import ConfigError, Filter, Flow, StageChoice
from synth.synthesizers.registry import SYNTHESIZERS

OWN_STAGES: Mapping[str, str] = {
    "filter": "synth.flows.stages.filter:FilterStage",
    "topology": "synth.flows.stages.topology:TopologyStage",
    "select": "synth.flows.stages.select:SelectStage",
    "export": "synth.flows.stages.export:ExportStage",
    "report": "synth.flows.stages.report:ReportStage",
}
"""The stages after collection, by the name that a flow.yaml gives them."""
STAGES = {**SYNTHESIZERS, **OWN_STAGES}
_MAKE = frozenset({"rollout", "reflect_retry", "failure_injection"})
"""Stages whose trajectories the flow sees; a user's own (`module:attribute`) is one of them too."""
_LATER = {"filter": 1, "select": 2, "export": 3, "report": 4}
"""Ranks of what works on what others have made; all other stages come before, in the order that the
flow gives them.
"""


def chosen_stages(
    flow: Flow, roles: Mapping[str, Role], of_env: EnvEntry | None = None, *, collect: bool = True
) -> list[MethodStage]:
    """Those that the flow names, in its order; a name that comes again is numbered."""
    chosen: list[tuple[str, str, type[Method], BaseModel]] = []
    names: Counter[str] = Counter()
    for index, choice in enumerate(flow.stages):
        names[choice.name] += 1
        number = names[choice.name]
        where = f"stages[{index}].{choice.name}"
        with at(f"stages[{index}]"):
            target_of("stage", choice.name, STAGES)
        if collect or choice.name in OWN_STAGES:
            name = choice.name if number == 1 else f"{choice.name}_{number}"
            with at(f"stages[{index}]"):
                method = part("stage", choice.name, STAGES)
            _require_method(method, where, choice.name)
            chosen.append((name, where, method, _settings(choice, method, roles, where)))

    stages = []
    for name, where, method, settings in chosen:
        with at(where):
            stages.append(bound_stage(method, settings, name, flow, roles, of_env))
    _each_its_folder(stages)
    refuse_order(flow.stages, collect=collect)
    return stages


def _require_method(found: Any, where: str, name: str) -> None:
    """Raises `ConfigError` for what is no stage."""
    if not (isinstance(found, type) and issubclass(found, Method)):
        raise ConfigError(
            f"{where}: {name!r} is a {type(found).__name__}, not a Study or Method class"
        )


def _settings(
    choice: StageChoice, method: type[Method], roles: Mapping[str, Role], where: str
) -> BaseModel:
    if choice.name == "filter":
        filters = [_asking(one, roles, where) for one in chosen_filters(choice.settings, where)]
        return method.config(filters=filters)
    found = validated(method.config, {} if choice.settings is None else choice.settings, where)
    if isinstance(found, ExportSettings):
        for kind in found.kinds:
            require(kind, found.form, f"{where}.kinds:", f"{where}.as:")
    return found


def _each_its_folder(stages: Sequence[MethodStage]) -> None:
    """Raises `ConfigError` where two export stages would write the same dataset."""
    owners: dict[str, str] = {}
    for name, settings in exports_among(stages):
        for folder in settings.folders():
            if folder in owners:
                raise ConfigError(
                    f"{name} and {owners[folder]} both write {folder}; give one a name of "
                    "its own: export: {name: second}"
                )
            owners[folder] = name


def refuse_order(stages: Sequence[StageChoice], *, collect: bool) -> None:
    """Raises `ConfigError` where a stage stands before what it is to take in: the same flow would
    come to other rows when run again.

    Without `collect` the stages that collect are passed over, as they are not run.
    """
    named = [
        (index, one.name) for index, one in enumerate(stages) if collect or one.name in OWN_STAGES
    ]
    for place, (index, name) in enumerate(named):
        for behind, other in named[place + 1 :]:
            if _is_taken_in(other, name):
                order = sorted((one for _, one in named), key=lambda one: _LATER.get(one, 0))
                raise ConfigError(
                    f"stages[{index}].{name} stands before stages[{behind}].{other}, so what "
                    "comes of that would be taken in by a second "
                    f"run only; put them in this order: {', '.join(order)}"
                )


def _is_taken_in(stage: str, by: str) -> bool:
    """Whether a stage gives what a filter, a selection or an export works on."""
    if by == "export":
        return stage not in ("export", "report")
    return by in ("filter", "select") and (stage in _MAKE or ":" in stage)


def chosen_filters(settings: Any, where: str) -> list[BoundFilter]:
    """`filter: [solved, {name: {settings}}]`."""
    entries = [settings] if isinstance(settings, str) else settings
    if not isinstance(entries, list) or not entries:
        raise ConfigError(
            f"{where}: give a list of filters, for instance [solved]; known: "
            f"{', '.join(sorted(FILTERS))}"
        )
    chosen = []
    for entry in entries:
        named = {entry: None} if isinstance(entry, str) else entry
        if not isinstance(named, dict) or len(named) != 1:
            raise ConfigError(
                f"{where}: {entry!r} is neither a filter's name nor {{name: {{settings}}}}"
            )
        ((name, given),) = named.items()
        with at(where):
            found = part("filter", str(name), FILTERS)
        if not isinstance(found, Filter):
            raise ConfigError(
                f"{where}: {name!r} is a {type(found).__name__}, not a "
                "synth.schemas.filtering.Filter"
            )
        chosen.append(
            BoundFilter(str(name), found, validated(found.config, given or {}, f"{where}.{name}"))
        )
    return chosen


def _asking(named: BoundFilter, roles: Mapping[str, Role], where: str) -> BoundFilter:
    """A filter with the models that it asks. Raises `ConfigError` where the flow names none for a
    role that it needs.
    """
    needed = tuple(named.filter.roles(named.config))
    models: dict[str, Any] = {}
    for name in (*needed, *named.filter.optional_roles(named.config)):
        role = roles.get(name)
        if role is not None and role.model is not None:
            models[f"model of {name}"] = [role.policy.model, dict(role.policy.sampling)]
        elif name in needed:
            raise ConfigError(
                f"{where}.{named.name}: needs a model as {name!r}: add `{name}: {{model: ...}}` "
                "to the flow's models"
            )
    return replace(named, models=models)
