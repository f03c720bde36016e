"""An echo environment with one thing exchanged, asked one check."""

import asyncio
from collections.abc import Callable

from synth.envs.conformance.finding import AuditLimits, ConformanceRig
from synth.envs.conformance.guard import on_thread
from synth.envs.echo import SPEC, EchoConfig, EchoEnv, make_tasks
from synth.envs.world import EnvEntry
from synth.schemas.environment import EnvSpec
from tests.envs.conformance.checks import CHECKS


def world(
    env: type[EchoEnv] = EchoEnv, *, spec: EnvSpec = SPEC, tasks: Callable = make_tasks
) -> EnvEntry:
    return EnvEntry(
        spec, lambda config: env(EchoConfig.model_validate(dict(config))), tasks, EchoConfig
    )


def finding(name: str, of: EnvEntry, config=None, *, call_limit_s=1.0, check_limit_s=10.0):
    config = {"turns": 3} if config is None else config
    limits = AuditLimits(part_s=check_limit_s, input_s=call_limit_s)
    bench = ConformanceRig(of, config, 5, of.make_tasks(config, 5, 2), limits)
    return asyncio.run(on_thread(CHECKS[name], bench))
