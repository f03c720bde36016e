"""A flow registered on a Prefect server, with its schedule and work pool; and the automation that
tells when one of its runs fails.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

import msgspec
from pydantic import SecretStr

from synth.flows.deployment_settings import refuse_unfit, settled
from synth.flows.prefect import refused
from synth.schemas.errors import ConfigError

ENTRYPOINT = "synth.flows.deployment_run.synth"
POOL = "synth"
"""The work pool that is made where none is named; its workers start processes on their own machine.
"""
TAG = "synth"
"""On every deployment that `synth deploy` makes."""
EVENTS = ("prefect.flow-run.Failed", "prefect.flow-run.Crashed", "prefect.flow-run.TimedOut")
TEXT = (
    "synth: flow run {{ flow_run.name }} of {{ deployment.name }} is {{ flow_run.state.name "
    "}}: {{ flow_run.state.message }}"
)
"""Rendered by the server; `text` is the key that Slack, Mattermost and Teams read."""


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
    """`pool_type` is Prefect's word for how the pool's workers start runs."""

    id: str
    full_name: str
    pool: str
    pool_type: str
    run_dir: str


async def register(order: Deployment, synth: Any) -> Registered:
    """Makes the deployment, or replaces the one of that name. Raises `SynthError` where the server
    refuses, or the pool is not there.

    `synth`: the flow that its runs are of. Of this machine only process pools are told: their runs start in `cwd`, and look for the user's
    own parts in `folder`.
    """
    import httpx
    from prefect import get_client
    from prefect.utilities.callables import parameter_schema

    try:
        async with get_client() as client:
            pool = await _pool(client, order.pool)
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
    return Registered(str(found), f"synth/{order.name}", pool.name, pool.type, order.run_dir)


def _schedules(order: Deployment) -> list[Any]:
    from prefect.client.schemas.actions import DeploymentScheduleCreate

    when: dict[str, Any] = {"timezone": order.timezone}
    if order.cron is not None:
        when["cron"] = order.cron
    elif order.interval_s is not None:
        when["interval"] = order.interval_s
    else:
        return []
    return [DeploymentScheduleCreate.model_validate({"schedule": when, "active": True})]


async def _pool(client: Any, name: str | None) -> Any:
    """The work pool; only the one of our own name is made where it is not there."""
    from prefect.client.schemas.actions import WorkPoolCreate
    from prefect.exceptions import ObjectNotFound
    from prefect.workers.process import ProcessWorker

    try:
        return await client.read_work_pool(name or POOL)
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
    )


async def notify(client: Any, deployment: str, deployment_id: str, url: str) -> None:
    """Makes or replaces the automation of this deployment; the URL is kept by the server as a
    secret of a block.
    """
    from prefect.blocks.webhook import Webhook
    from prefect.events.actions import CallWebhook
    from prefect.events.schemas.automations import AutomationCore, EventTrigger, Posture

    name = f"synth: {deployment} has failed"
    block = await Webhook(method="POST", url=SecretStr(url)).save(
        _block_name(deployment), overwrite=True
    )
    automation = AutomationCore(
        name=name,
        description="Made by `synth deploy --notify`.",
        trigger=EventTrigger(
            expect=set(EVENTS),
            match={"prefect.resource.id": "prefect.flow-run.*"},
            match_related={
                "prefect.resource.role": "deployment",
                "prefect.resource.id": f"prefect.deployment.{deployment_id}",
            },
            posture=Posture.Reactive,
            threshold=1,
        ),
        actions=[CallWebhook(block_document_id=block, payload=json.dumps({"text": TEXT}))],
    )
    for old in await client.read_automations_by_name(name):
        await client.delete_automation(old.id)
    await client.create_automation(automation)


def _block_name(deployment: str) -> str:
    """Block names have small letters, digits and dashes."""
    return "synth-" + re.sub(r"[^a-z0-9]", "-", deployment.lower())
