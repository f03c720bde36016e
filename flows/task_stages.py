"""What stands before the stages of a flow: its tasks, and, where it asks for a pass rate, the
calibration of their difficulty.
"""

from collections.abc import Mapping, Sequence

from pydantic import ValidationError

from synth.engine.context import Role, Run
from synth.envs.world import EnvEntry
from synth.schemas.errors import ConfigError
from synth.schemas.flow import EnvChoice, Flow
from synth.schemas.settings_error import explain
from synth.schemas.stage import Stage
from synth.schemas.strict_settings import strictly
from synth.synthesizers.calibrate import Calibrate
from synth.synthesizers.rollout import Rollout, RolloutSettings, places_for
from synth.synthesizers.tasks import TemplateTasks


def task_stages(
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
    calibration = Calibrate(
        env=env.name,
        env_config=env.settings(),
        level=world.level,
        version=world.spec.version,
        seed=flow.seed,
        difficulty=env.difficulty,
        role=role,
        rollout=rollouts[0].config if rollouts else RolloutSettings(),
        places=rollouts[0].places if rollouts else places_for(RolloutSettings(), role),
        start_state=start,
    )
    return [calibration, TemplateTasks(identity, calibration)]


def _refuse_level_unknown_to(world: EnvEntry, env: EnvChoice) -> None:
    """Raises `ConfigError` where the world's own settings do not take its level, from the easiest
    to the hardest.
    """
    for level in (0.0, 1.0):
        try:
            strictly(world.config, {**env.settings(), str(world.level): level})
        except ValidationError as error:
            said = explain(error, world.config, "env")
            raise ConfigError(
                f"env.difficulty: world {env.name!r} names {world.level!r} as its level, but "
                f"refuses {level:g}: {said}"
            ) from error
