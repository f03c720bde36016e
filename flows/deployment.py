"""Registers a flow on a Prefect server: with a schedule, a work pool, and whom to tell when it
fails.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from synth.flows.deployment_job import refuse_unfit
from synth.flows.deployment_notice import notify
from synth.flows.deployment_overview import TAG
from synth.flows.deployment_run_dir import settled
from synth.flows.prefect_access import refused
from synth.schemas.errors import ConfigError

ENTRYPOINT = "synth.flows.deployment_run.synth"
POOL = "synth"
"""The work pool that is made where none is named; its workers start processes on their own machine.
"""
SERVER = "prefect server start"


class Deployment(msgspec.Struct, frozen=True, kw_only=True):
    """What is registered. `content`: the flow as it is written, overrides applied; `cwd`, `folder`:
    see `register`.

    `job`: what its runs set of the work pool's template.
    """

    name: str
    content: Mapping[str, Any]
    run_dir: str
    workers: int = 1
    cron: str | None = None
    interval_s: float | None = None
    timezone: str = "UTC"
    pool: str | None = None
    paused: bool = False
    folder: str | None = None
    cwd: str
    notify: str | None = None
    job: Mapping[str, Any] = msgspec.field(default_factory=dict)

    def parameters(self) -> dict[str, Any]:
        """Of its flow runs; each can be given others."""
        given = {
            "flow": dict(self.content),
            "run_dir": self.run_dir,
            "overrides": [],
            "workers": self.workers,
        }
        return {**given, "folder": self.folder, "timezone": self.timezone, "joins": False}

    def when(self) -> str:
        """In words."""
        if self.cron is not None:
            return f"cron {self.cron!r} ({self.timezone})"
        return (
            f"every {self.interval_s:g} s"
            if self.interval_s is not None
            else "when it is asked for"
        )


class Registered(msgspec.Struct, frozen=True):
    """`pool_type` is Prefect's word for how the pool's workers start runs; `made_pool` whether the
    pool is new.
    """

    id: str
    full_name: str
    pool: str
    pool_type: str
    made_pool: bool
    run_dir: str


def refuse_bad_schedule(cron: str | None, interval_s: float | None, timezone: str) -> None:
    """Raises `ConfigError` for what no server takes as a schedule."""
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    if cron is not None and interval_s is not None:
        raise ConfigError("--cron and --interval: give one of them")
    if interval_s is not None and not 1 <= interval_s <= 366 * 86400:
        raise ConfigError(f"--interval {interval_s:g}: give seconds, from 1 to a year of them")
    try:
        ZoneInfo(timezone)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise ConfigError(
            f"--timezone {timezone}: not known here; give a name such as Europe/Berlin or UTC"
        ) from error
    if cron is not None:
        from prefect.client.schemas.schedules import CronSchedule
        from pydantic import ValidationError

        try:
            CronSchedule(cron=cron, timezone=timezone)
        except ValidationError as error:
            raise ConfigError(
                f"--cron {cron!r}: not a cron line; five fields, such as '0 2 * * *' for two in "
                "the night"
            ) from error


async def register(order: Deployment) -> Registered:
    """Makes the deployment, or replaces the one of that name. Raises `SynthError` where the server
    refuses, or the pool is not there.

    Of this machine only process pools are told: their runs start in `cwd`, and look for the user's
    own parts in `folder`.
    """
    import httpx
    from prefect import get_client
    from prefect.utilities.callables import parameter_schema

    from synth.flows.deployment_run import synth

    try:
        async with get_client() as client:
            pool, made = await _pool(client, order.pool)
            remote = pool.type != "process"
            refuse_unfit(pool, order.job)
            folder = None if remote else order.folder
            order = msgspec.structs.replace(
                order, run_dir=settled(order.run_dir, remote=remote), folder=folder
            )
            flow_id = await client.create_flow(synth)
            found = await client.create_deployment(
                flow_id=flow_id,
                name=order.name,
                entrypoint=ENTRYPOINT,
                schedules=_schedules(order),
                paused=order.paused,
                parameters=order.parameters(),
                parameter_openapi_schema=parameter_schema(synth).model_dump_for_openapi(),
                enforce_parameter_schema=True,
                work_pool_name=pool.name,
                tags=[TAG],
                description=f"synth: {order.name}, {order.when()}, into {order.run_dir}",
                job_variables={**({} if remote else {"working_dir": order.cwd}), **order.job},
            )
            if order.notify is not None:
                await notify(client, order.name, str(found), order.notify)
    except httpx.HTTPError as error:
        raise refused(error) from error
    return Registered(str(found), f"synth/{order.name}", pool.name, pool.type, made, order.run_dir)


def _schedules(order: Deployment) -> list[Any]:
    from datetime import timedelta

    from prefect.client.schemas.actions import DeploymentScheduleCreate
    from prefect.client.schemas.schedules import CronSchedule, IntervalSchedule

    if order.cron is not None:
        return [
            DeploymentScheduleCreate(
                schedule=CronSchedule(cron=order.cron, timezone=order.timezone), active=True
            )
        ]
    if order.interval_s is not None:
        every = IntervalSchedule(
            interval=timedelta(seconds=order.interval_s), timezone=order.timezone
        )
        return [DeploymentScheduleCreate(schedule=every, active=True)]
    return []


async def _pool(client: Any, name: str | None) -> tuple[Any, bool]:
    """The work pool, and whether it was made now: only the one of our own name is."""
    from prefect.client.schemas.actions import WorkPoolCreate
    from prefect.exceptions import ObjectNotFound
    from prefect.workers.process import ProcessWorker

    try:
        return await client.read_work_pool(name or POOL), False
    except ObjectNotFound as error:
        if name is not None:
            raise ConfigError(
                f"--work-pool {name}: the server has none of that name; make it with: prefect "
                f"work-pool create {name} --type process "
                "(or docker, kubernetes, ...), or leave the option out"
            ) from error
    template = ProcessWorker.get_default_base_job_template()
    return await client.create_work_pool(
        WorkPoolCreate(name=POOL, type="process", base_job_template=template)
    ), True
