"""Binds the names in a flow to parts: environments, roles, stages; nothing is written."""

from collections.abc import Mapping, Sequence

from synth.engine.budget import require_prices
from synth.engine.context import Role, Run
from synth.engine.study.player import Player, places_for
from synth.envs.world import EnvEntry
from synth.flows.bindings import Bindings, private
from synth.flows.environments import bindings_of, said_by_flow, without_start
from synth.flows.flow_file import refuse_keys
from synth.flows.parts import at, validated, world
from synth.flows.roles import role, roles_of
from synth.flows.stage_choice import chosen_filters, chosen_stages
from synth.schemas.errors import ConfigError, FlowError
from synth.schemas.flow import EnvChoice, Flow
from synth.schemas.stage import Stage
from synth.synthesizers.calibrate import Calibrate
from synth.synthesizers.rollout import Rollout, RolloutSettings
from synth.synthesizers.start_state import start_state
from synth.synthesizers.tasks import TemplateTasks


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
        return roles, chosen_stages(flow, roles, collect=False)
    except ConfigError as error:
        raise FlowError(str(error)) from error


def _asked_by_filters(flow: Flow) -> set[str]:
    """Roles that filters of a flow ask or may ask."""
    filters = [
        named
        for index, choice in enumerate(flow.stages)
        if choice.name == "filter"
        for named in chosen_filters(choice.settings, f"stages[{index}].filter")
    ]
    return {
        one
        for named in filters
        for ask in (named.filter.roles, named.filter.optional_roles)
        for one in ask(named.config)
    }


def _bound(flow: Flow, bindings: Bindings | None) -> tuple[Mapping[str, Role], list[Stage[Run]]]:
    require_prices(flow)
    roles = roles_of(flow)
    if flow.env is None:
        return roles, chosen_stages(flow, roles)
    env = _public(flow.env)
    if bindings is None:
        bindings = bindings_of(said_by_flow(flow))
    of_env = bindings.world(env.name)
    with at("env"):
        start = start_state(of_env, env.settings())
    data = flow.model_copy(update={"env": env})
    stages = chosen_stages(data, roles, of_env)
    return roles, [*_task_stages(data, env, of_env, roles, stages, start), *stages]


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
    flow: Flow,
    env: EnvChoice,
    world: EnvEntry,
    roles: Mapping[str, Role],
    stages: Sequence[Stage[Run]],
    start: str | None,
) -> list[Stage[Run]]:
    """`tasks`, after `calibrate` if the flow has an `env.difficulty`; `start` is the world's
    `start_state`. Raises `ConfigError`.
    """
    from_start = {} if start is None or not env.tasks else {"start_state": start}
    identity = {
        "env": env.name,
        "config": env.settings(),
        "seed": flow.seed,
        "count": env.tasks,
        **from_start,
    }
    if env.difficulty is None:
        return [TemplateTasks(identity)]
    role = roles.get(env.difficulty.against)
    if role is None:
        known = ", ".join(roles) or "none"
        raise ConfigError(
            f"env.difficulty.against: no role {env.difficulty.against!r} among the flow's models "
            f"({known})"
        )
    if world.level is None:
        raise ConfigError(
            f"env.difficulty: world {env.name!r} has no setting that makes its tasks harder "
            "(EnvEntry.level); leave it out"
        )
    if world.level in env.settings():
        raise ConfigError(
            f"env.{world.level} and env.difficulty both say how hard the tasks are; leave one of "
            "them out"
        )
    _refuse_level_unknown_to(world, env)
    rollouts = [
        stage
        for stage in stages
        if isinstance(stage, Rollout) and stage.config.role == env.difficulty.against
    ]
    config = rollouts[0].config if rollouts else RolloutSettings()
    places = rollouts[0].player.places if rollouts else places_for(None, role)
    against = env.difficulty.against
    player = Player(against, role, config.limits, places, flow.seed, "calibration")
    calibration = Calibrate(
        env=env.name,
        env_config=env.settings(),
        level=world.level,
        version=world.spec.version,
        difficulty=env.difficulty,
        player=player,
        trials=config.trials,
        start_state=start,
    )
    return [calibration, TemplateTasks(identity, calibration)]


def _refuse_level_unknown_to(world: EnvEntry, env: EnvChoice) -> None:
    """Raises `ConfigError` where the world's own settings do not take its level, from the easiest
    to the hardest.
    """
    for level in (0.0, 1.0):
        names = f"env.difficulty: world {env.name!r} names {world.level!r} as its level"
        given = {**env.settings(), str(world.level): level}
        validated(world.config, given, "env", before=f"{names}, but refuses {level:g}: ")
