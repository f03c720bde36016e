"""A flow registered on a Prefect server, with its schedule and work pool; and the automation that
tells when one of its runs fails.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

import msgspec
from pydantic import SecretStr

from synth.flows.deployments.settings import refuse_unfit, settled, when
from synth.flows.prefect import users_client
from synth.schemas import ConfigError

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
        return {
            "flow": dict(self.content),
            "run_dir": self.run_dir,
            "overrides": [],
            "workers": self.workers,
            "folder": self.folder,
            "timezone": self.timezone,
            "joins": False,
        }

    def when(self) -> str:
        """In words."""
        return when(self.cron, self.interval_s, self.timezone) or "when it is asked for"


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

    `synth`: the flow that its runs are of. Of this machine only process pools are told: their runs
    start in `cwd`, and look for the user's own parts in `folder`.
    """
    from prefect.utilities.callables import parameter_schema

    async with users_client() as client:
        pool = await _pool(client, order.pool)
        remote = pool.type != "process"
        refuse_unfit(pool, order.job)
        run_dir = settled(order.run_dir, remote=remote)
        order = msgspec.structs.replace(
            order, run_dir=run_dir, folder=None if remote else order.folder
        )
        schedule = {"cron": order.cron, "interval": order.interval_s}
        given = {name: value for name, value in schedule.items() if value is not None}
        found = await client.create_deployment(
            flow_id=await client.create_flow(synth),
            name=order.name,
            entrypoint=ENTRYPOINT,
            schedules=[
                {"schedule": {**given, "timezone": order.timezone}, "active": True} for _ in given
            ],
            paused=order.paused,
            parameters=order.parameters(),
            parameter_openapi_schema=parameter_schema(synth).model_dump_for_openapi(),
            enforce_parameter_schema=True,
            work_pool_name=pool.name,
            tags=[TAG],
            description=f"synth: {order.name}, {order.when()}, into {run_dir}",
            job_variables={**({} if remote else {"working_dir": order.cwd}), **order.job},
        )
        if order.notify is not None:
            await notify(client, order.name, str(found), order.notify)
    return Registered(str(found), f"synth/{order.name}", pool.name, pool.type, run_dir)


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
    from prefect.events.schemas.automations import AutomationCore

    # block names have small letters, digits and dashes
    block_name = "synth-" + re.sub(r"[^a-z0-9]", "-", deployment.lower())
    block = await Webhook(method="POST", url=SecretStr(url)).save(block_name, overwrite=True)
    name = f"synth: {deployment} has failed"
    trigger = {
        "type": "event",
        "posture": "Reactive",
        "threshold": 1,
        "expect": EVENTS,
        "match": {"prefect.resource.id": "prefect.flow-run.*"},
        "match_related": {
            "prefect.resource.role": "deployment",
            "prefect.resource.id": f"prefect.deployment.{deployment_id}",
        },
    }
    call = {
        "type": "call-webhook",
        "block_document_id": block,
        "payload": json.dumps({"text": TEXT}),
    }
    automation = {
        "name": name,
        "description": "Made by `synth deploy --notify`.",
        "trigger": trigger,
        "actions": [call],
    }
    for old in await client.read_automations_by_name(name):
        await client.delete_automation(old.id)
    await client.create_automation(AutomationCore.model_validate(automation))
