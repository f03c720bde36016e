"""Binds the names in a flow to parts: worlds, policies, models, stages. The only place that knows
all registries.
"""

import contextlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from msgspec import to_builtins
from pydantic import BaseModel, ValidationError

from synth.boundary import guard
from synth.engine.budget import require_prices
from synth.engine.context import Role, Run, Synthesizer
from synth.engine.measured import BoundFilter
from synth.envs.world import EnvEntry
from synth.exporters.registry import require
from synth.exporters.taken_in import TakenIn
from synth.filters.registry import FILTERS
from synth.flows.bindings import Bindings, private
from synth.flows.environments import bindings_of, said_by_flow, without_start
from synth.flows.parts import part, world
from synth.flows.plugins import plugin, plugin_names
from synth.flows.stage_order import refuse_order
from synth.flows.stages.export import ExportSettings, ExportStage
from synth.flows.stages.filter import FilterStage
from synth.flows.stages.report import ReportSettings, ReportStage
from synth.flows.stages.select import SelectSettings, SelectStage
from synth.flows.stages.topology import TopologySettings, TopologyStage
from synth.flows.task_stages import task_stages
from synth.flows.user_role import UserSettings, of_the_model, with_user
from synth.flows.yaml_file import refuse_keys
from synth.models.registry import open_model, open_scoring
from synth.models.settings import ModelSettings
from synth.policies.registry import POLICIES
from synth.schemas.errors import ConfigError, FlowError
from synth.schemas.filter import Filter
from synth.schemas.flow import EnvChoice, Flow, StageChoice
from synth.schemas.policy import PolicySpec
from synth.schemas.settings_error import explain
from synth.schemas.stage import Stage
from synth.schemas.strict_settings import strictly
from synth.schemas.user import USER
from synth.synthesizers.registry import SYNTHESIZERS
from synth.synthesizers.start_state import start_state

T = TypeVar("T")
Model = TypeVar("Model", bound=BaseModel)
OWN_STAGES = ("filter", "topology", "select", "export", "report")


def resolve(
    flow: Flow, bindings: Bindings | None = None
) -> tuple[Mapping[str, Role], list[Stage[Run]]]:
    """The flow's roles and stages, validated to the last key. Raises `FlowError` with the place in
    the flow; nothing is written.

    The flow is its user's own: what it says of its environment starts it, where no `bindings` are
    given.
    """
    try:
        refuse_keys(flow.model_dump(mode="json"))
        return _bound(flow, bindings)
    except ConfigError as error:
        raise FlowError(str(error)) from error


def resolve_later(flow: Flow) -> tuple[Mapping[str, Role], list[Stage[Run]]]:
    """The models that filters ask, and the stages after collection; what only collection needs is
    not looked at. Raises `FlowError`.
    """
    try:
        refuse_keys(flow.model_dump(mode="json"))
        asked = _asked_by_filters(flow)
        roles = {
            name: role(name, settings)
            for name, settings in flow.models.items()
            if name in asked and "model" in settings
        }
        return roles, _stages(flow, roles, collect=False)
    except ConfigError as error:
        raise FlowError(str(error)) from error


def _asked_by_filters(flow: Flow) -> set[str]:
    """Roles that filters of a flow ask or may ask."""
    filters = [
        named
        for index, choice in enumerate(flow.stages)
        if choice.name == "filter"
        for named in _filters(choice.settings, f"stages[{index}].filter")
    ]
    return {
        one
        for named in filters
        for ask in (named.filter.roles, named.filter.optional_roles)
        for one in ask(named.config)
    }


@contextlib.contextmanager
def _at(where: str) -> Iterator[None]:
    """What is wrong in there is told with its place in the flow."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from error


def _bound(flow: Flow, bindings: Bindings | None) -> tuple[Mapping[str, Role], list[Stage[Run]]]:
    require_prices(flow)
    roles = with_user(
        flow,
        {name: role(name, of_the_model(name, settings)) for name, settings in flow.models.items()},
    )
    if flow.env is None:
        return roles, _stages(flow, roles)
    env = _public(flow.env)
    if bindings is None:
        bindings = bindings_of(said_by_flow(flow))
    of_env = bindings.world(env.name)
    with _at("env"):
        start = start_state(of_env, env.settings())
    data = flow.model_copy(update={"env": env})
    stages = _stages(data, roles, of_env)
    return roles, [*task_stages(data, env, of_env, roles, stages, start), *stages]


def _public(env: EnvChoice) -> EnvChoice:
    """What of a flow's `env` is data, looked at to the last key; what starts it is looked at where
    it is bound.
    """
    with _at("env.name"):
        found = world(env.name)
    public = without_start(env)
    _validated(
        found.config, public.settings(), "env", also=[*EnvChoice.model_fields, *private(found)]
    )
    return public


def _stages(
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
    with _at(where):
        return Role(policy, open_model(chosen), open_scoring=partial(open_scoring, chosen))


def _policy(
    where: str,
    name: str,
    settings: Mapping[str, Any],
    model: str | None,
    sampling: Mapping[str, Any],
) -> PolicySpec:
    with _at(f"{where}.policy"):
        make = part("policy", name, POLICIES)
        if not callable(make):
            raise ConfigError(
                f"{name!r} is of type {type(make).__name__}, not a function that gives a PolicySpec"
            )
    with _at(where):
        spec = _or_refusal(
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
        return _filter_stage(name, _filters(choice.settings, where), roles, where)
    if choice.name == "export":
        return ExportStage(name, _export(choice.settings, where))
    if choice.name == "topology":
        return TopologyStage(name, _validated(TopologySettings, choice.settings or {}, where))
    if choice.name == "report":
        return ReportStage(name, _validated(ReportSettings, choice.settings or {}, where))
    if choice.name == "select":
        selection = _validated(SelectSettings, choice.settings or {}, where)
        return SelectStage(name, selection, TakenIn.by(flow, "sft"), TakenIn.by(flow, "rl"))
    with _at(f"stages[{index}]"):
        synthesizer = part("stage", choice.name, SYNTHESIZERS)
    if not isinstance(synthesizer, Synthesizer):
        raise ConfigError(
            f"{where}: {choice.name!r} is a {type(synthesizer).__name__}, not a Synthesizer"
        )
    settings = {} if choice.settings is None else choice.settings
    config = _validated(synthesizer.config, settings, where)
    with _at(where):
        if not synthesizer.of_world:
            return synthesizer.bind(name, config, flow, roles)
        if of_env is None:
            raise ConfigError(
                f"{choice.name} needs a world: add `env: {{name: ..., tasks: ...}}` to the flow"
            )
        return synthesizer.bind(name, config, flow, roles, of_env)


def _filters(settings: Any, where: str) -> list[BoundFilter]:
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
        with _at(where):
            found = part("filter", str(name), FILTERS)
        if not isinstance(found, Filter):
            raise ConfigError(
                f"{where}: {name!r} is a {type(found).__name__}, not a synth.schemas.filter.Filter"
            )
        chosen.append(
            BoundFilter(str(name), found, _validated(found.config, given or {}, f"{where}.{name}"))
        )
    return chosen


def _filter_stage(
    name: str, filters: Sequence[BoundFilter], roles: Mapping[str, Role], where: str
) -> FilterStage:
    """With the models that the filters ask. Raises `ConfigError` where the flow names none for a
    role that one needs.
    """
    asked: dict[str, Role] = {}
    for named in filters:
        needed = tuple(named.filter.roles(named.config))
        for one in (*needed, *named.filter.optional_roles(named.config)):
            if one in roles and roles[one].model is not None:
                asked[one] = roles[one]
            elif one in needed:
                raise ConfigError(
                    f"{where}.{named.name}: needs a model as {one!r}: add `{one}: {{model: ...}}` "
                    "to the flow's models"
                )
    return FilterStage(name, filters, asked)


def _export(settings: Any, where: str) -> ExportSettings:
    config = _validated(ExportSettings, settings or {}, where)
    for kind in config.kinds:
        require(kind, config.form, f"{where}.kinds:", f"{where}.as:")
    return config


def _validated(model: type[Model], settings: Any, where: str, also: Iterable[str] = ()) -> Model:
    found = _or_refusal(f"{where}: its settings", lambda: strictly(model, settings))
    if isinstance(found, ValidationError):
        raise ConfigError(explain(found, model, where, also))
    return found


def _or_refusal(what: str, make: Callable[[], T]) -> T | ValidationError:
    """What a part of a user's own may make of its settings, or pydantic's refusal of them. Raises
    `ConfigError` for all else.
    """

    def made() -> T | ValidationError:
        try:
            return make()
        except ValidationError as error:
            return error

    return guard(what, made)
