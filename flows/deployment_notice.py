"""Whom to tell when a deployment's flow run fails: an automation of the Prefect server that posts
to a URL.
"""

import json
from typing import Any

from pydantic import SecretStr

from synth.schemas.errors import ConfigError

EVENTS = ("prefect.flow-run.Failed", "prefect.flow-run.Crashed", "prefect.flow-run.TimedOut")
TEXT = (
    "synth: flow run {{ flow_run.name }} of {{ deployment.name }} is {{ flow_run.state.name "
    "}}: {{ flow_run.state.message }}"
)
"""Rendered by the server; `text` is the key that Slack, Mattermost and Teams read."""


def refuse_bad_url(url: str) -> None:
    """Raises `ConfigError` for what cannot be posted to."""
    if not url.startswith(("http://", "https://")):
        raise ConfigError("--notify: give the URL of a webhook, beginning with https:// or http://")


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
    return "synth-" + "".join(
        char if char.isascii() and char.isalnum() else "-" for char in deployment.lower()
    )
