"""Binds the names in a flow to parts: environments, roles, stages; nothing is written."""

from collections.abc import Mapping, Sequence

from synth.engine.budget import require_prices
from synth.engine.context import Role, Run
from synth.engine.study.stage import MethodStage, bound_stage
from synth.envs.world import EnvEntry
from synth.flows.environments import bindings_of, said_by_flow, without_start
from synth.flows.own.bindings import Bindings, private
from synth.flows.own.flow_file import refuse_keys
from synth.flows.parts import at, validated, world
from synth.flows.roles import role, roles_of
from synth.flows.stage_choice import chosen_filters, chosen_stages
from synth.flows.stages.filter import asked_by
from synth.schemas import ConfigError, EnvChoice, Flow, FlowError, Stage
from synth.synthesizers.calibrate import Calibrate
from synth.synthesizers.tasks import CALIBRATE, TemplateTasks

Parts = tuple[Mapping[str, Role], Sequence[Stage[Run]]]
"""The roles of a flow, by name, and its stages."""


def resolve(flow: Flow, bindings: Bindings | None = None, *, collect: bool = True) -> Parts:
    """The flow's roles and stages, validated to the last key. Raises `FlowError` with the place in
    the flow; nothing is written.

    The flow is its user's own: what it says of its environment starts it, where no `bindings` are
    given. Without `collect`: the stages after collection, and the models that filters ask; what
    only collection needs is not looked at.
    """
    try:
        refuse_keys(flow.model_dump(mode="json"))
        return _bound(flow, bindings) if collect else _later(flow)
    except ConfigError as error:
        raise FlowError(str(error)) from error


def roles_of_filters(flow: Flow) -> set[str]:
    """The roles whose models the flow's filters ask."""
    return {
        role
        for index, choice in enumerate(flow.stages)
        if choice.name == "filter"
        for role in asked_by(chosen_filters(choice.settings, f"stages[{index}].filter"))
    }


def _later(flow: Flow) -> Parts:
    asked = roles_of_filters(flow)
    roles = {
        name: role(name, settings)
        for name, settings in flow.models.items()
        if name in asked and "model" in settings
    }
    return roles, chosen_stages(flow, roles, collect=False)


def _bound(flow: Flow, bindings: Bindings | None) -> Parts:
    require_prices(flow)
    roles = roles_of(flow)
    if flow.env is None:
        return roles, chosen_stages(flow, roles)
    env = _public(flow.env)
    of_env = (bindings or bindings_of(said_by_flow(flow))).world(env.name)
    data = flow.model_copy(update={"env": env})
    with at("env"):
        tasks = _task_stages(data, env, of_env, roles)
    return roles, [*tasks, *chosen_stages(data, roles, of_env)]


def _public(env: EnvChoice) -> EnvChoice:
    """What of a flow's `env` is data, looked at to the last key; what starts it is looked at where
    it is bound.
    """
    with at("env.name"):
        found = world(env.name)
    public = without_start(env)
    validated(
        found.config, public.settings(), "env", also=[*EnvChoice.model_fields, *private(found)]
    )
    return public


def _task_stages(
    flow: Flow, env: EnvChoice, world: EnvEntry, roles: Mapping[str, Role]
) -> list[MethodStage]:
    """`tasks`, after `calibrate` if the flow has an `env.difficulty`. Raises `ConfigError`, also
    where the world's own settings do not take its level, from the easiest to the hardest.
    """
    tasks = bound_stage(TemplateTasks, TemplateTasks.config(), "tasks", flow, roles, world)
    if env.difficulty is None:
        return [tasks]
    calibrate = bound_stage(Calibrate, env.difficulty, CALIBRATE, flow, roles, world)
    for level in (0.0, 1.0):
        names = f"env.difficulty: world {env.name!r} names {world.level!r} as its level"
        given = {**env.settings(), str(world.level): level}
        validated(world.config, given, "env", before=f"{names}, but refuses {level:g}: ")
    return [calibrate, tasks]
