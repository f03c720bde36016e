"""The stages that a flow names, bound to their parts. What judges trajectories stands behind all
that makes them, and exports behind what they write about.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from synth.engine.context import Role, Run
from synth.engine.runs.measure_cache import BoundFilter
from synth.engine.study.method import Method
from synth.engine.study.stage import bound_stage
from synth.envs.world import EnvEntry
from synth.exporters.registry import require
from synth.filters.registry import FILTERS
from synth.flows.parts import at, part, validated
from synth.flows.plugins import plugin, plugin_names
from synth.flows.stages.export import ExportSettings, ExportStage, FlowRelease
from synth.flows.stages.filter import FilterStage
from synth.flows.stages.report import ReportSettings, ReportStage
from synth.flows.stages.select import SelectSettings, SelectStage
from synth.flows.stages.topology import TopologyStage
from synth.flows.stages.topology_settings import TopologySettings
from synth.schemas.errors import ConfigError
from synth.schemas.filter import Filter
from synth.schemas.flow import Flow, StageChoice
from synth.schemas.stage import Stage
from synth.synthesizers.registry import SYNTHESIZERS

OWN_STAGES = ("filter", "topology", "select", "export", "report")
_MAKE = frozenset({"rollout", "reflect_retry", "failure_injection"})
"""Stages whose trajectories the flow sees; a user's own (`module:attribute`) is one of them too."""
_LATER = {"filter": 1, "select": 2, "export": 3, "report": 4}
"""Ranks of what works on what others have made; all other stages come before, in the order that the
flow gives them.
"""


def chosen_stages(
    flow: Flow, roles: Mapping[str, Role], of_env: EnvEntry | None = None, *, collect: bool = True
) -> list[Stage[Run]]:
    """Those that the flow names, in its order; a name that comes again is numbered."""
    stages: list[Stage[Run]] = []
    names: Counter[str] = Counter()
    for index, choice in enumerate(flow.stages):
        names[choice.name] += 1
        name = choice.name if names[choice.name] == 1 else f"{choice.name}_{names[choice.name]}"
        if not (
            choice.name in SYNTHESIZERS
            or choice.name in OWN_STAGES
            or ":" in choice.name
            or plugin("stage", choice.name)
        ):
            known = ", ".join(sorted({*SYNTHESIZERS, *OWN_STAGES, *plugin_names("stage")}))
            raise ConfigError(f"stages[{index}]: unknown stage {choice.name!r}; known: {known}")
        if collect or choice.name in OWN_STAGES:
            stages.append(_stage(name, index, choice, flow, roles, of_env))
    _each_its_folder(stages)
    refuse_order(flow.stages, collect=collect)
    return stages


def _each_its_folder(stages: Sequence[Stage[Run]]) -> None:
    """Raises `ConfigError` where two export stages would write the same dataset."""
    owners: dict[str, str] = {}
    for stage in stages:
        for folder in stage.config.folders() if isinstance(stage, ExportStage) else ():
            if folder in owners:
                raise ConfigError(
                    f"{stage.name} and {owners[folder]} both write {folder}; give one a name of "
                    "its own: export: {name: second}"
                )
            owners[folder] = stage.name


def refuse_order(stages: Sequence[StageChoice], *, collect: bool) -> None:
    """Raises `ConfigError` where a stage stands before what it is to take in: the same flow would
    come to other rows when run again.

    Without `collect` the stages that collect are passed over, as they are not run.
    """
    named = [
        (index, one.name)
        for index, one in enumerate(stages)
        if collect or one.name in ("topology", *_LATER)
    ]
    for place, (index, name) in enumerate(named):
        for behind, other in named[place + 1 :]:
            if _is_taken_in(other, name):
                order = ", ".join(
                    sorted((one for _, one in named), key=lambda one: _LATER.get(one, 0))
                )
                raise ConfigError(
                    f"stages[{index}].{name} stands before stages[{behind}].{other}, so what "
                    "comes of that would be taken in by a second "
                    f"run only; put them in this order: {order}"
                )


def _is_taken_in(stage: str, by: str) -> bool:
    """Whether a stage gives what a filter, a selection or an export works on."""
    if by == "export":
        return stage not in ("export", "report")
    return by in ("filter", "select") and (stage in _MAKE or ":" in stage)


def _stage(
    name: str,
    index: int,
    choice: StageChoice,
    flow: Flow,
    roles: Mapping[str, Role],
    of_env: EnvEntry | None,
) -> Stage[Run]:
    where = f"stages[{index}].{choice.name}"
    if choice.name == "filter":
        return _filter_stage(name, chosen_filters(choice.settings, where), roles, where)
    if choice.name == "export":
        return ExportStage(name, _export(choice.settings, where))
    if choice.name == "topology":
        return TopologyStage(name, validated(TopologySettings, choice.settings or {}, where))
    if choice.name == "report":
        return ReportStage(name, validated(ReportSettings, choice.settings or {}, where))
    if choice.name == "select":
        selection = validated(SelectSettings, choice.settings or {}, where)
        exports = [
            _export(one.settings, f"stages[{at}].export")
            for at, one in enumerate(flow.stages)
            if one.name == "export"
        ]
        takes = {kind: FlowRelease.by(exports, kind) for kind in ("sft", "rl")}
        return SelectStage(name, selection, takes)
    with at(f"stages[{index}]"):
        method = part("stage", choice.name, SYNTHESIZERS)
    if not (isinstance(method, type) and issubclass(method, Method)):
        raise ConfigError(
            f"{where}: {choice.name!r} is a {type(method).__name__}, not a Study or Method class"
        )
    config = validated(method.config, {} if choice.settings is None else choice.settings, where)
    with at(where):
        return bound_stage(method, config, name, flow, roles, of_env)


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
                f"{where}: {name!r} is a {type(found).__name__}, not a synth.schemas.filter.Filter"
            )
        chosen.append(
            BoundFilter(str(name), found, validated(found.config, given or {}, f"{where}.{name}"))
        )
    return chosen


def _filter_stage(
    name: str, filters: Sequence[BoundFilter], roles: Mapping[str, Role], where: str
) -> FilterStage:
    """With the models that the filters ask. Raises `ConfigError` where the flow names none for a
    role that one needs.
    """
    asked: dict[str, Role] = {}
    bound = []
    for named in filters:
        needed = tuple(named.filter.roles(named.config))
        models: dict[str, Any] = {}
        for one in (*needed, *named.filter.optional_roles(named.config)):
            if one in roles and roles[one].model is not None:
                asked[one] = roles[one]
                policy = asked[one].policy
                models[f"model of {one}"] = [policy.model, dict(policy.sampling)]
            elif one in needed:
                raise ConfigError(
                    f"{where}.{named.name}: needs a model as {one!r}: add `{one}: {{model: ...}}` "
                    "to the flow's models"
                )
        bound.append(replace(named, models=models))
    return FilterStage(name, bound, asked)


def _export(settings: Any, where: str) -> ExportSettings:
    config = validated(ExportSettings, settings or {}, where)
    for kind in config.kinds:
        require(kind, config.form, f"{where}.kinds:", f"{where}.as:")
    return config
