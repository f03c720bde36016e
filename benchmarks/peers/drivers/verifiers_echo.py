"""A taskset and a harness for verifiers 0.4. The harness runs its loop in verifiers' own process,
as `Harness.launch` allows.

The harnesses that come with verifiers start a program of their own per rollout, which costs over a
second of CPU each.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import aiohttp
import verifiers.v1 as vf
from verifiers.v1.runtimes import ProgramResult

ECHO = {
    "type": "function",
    "function": {
        "name": "echo",
        "description": "Says a text back.",
        "parameters": {
            "type": "object",
            "properties": {"text": {"type": "string"}},
            "required": ["text"],
        },
    },
}


class EchoTaskset(vf.Taskset[vf.Task, vf.TasksetConfig]):
    """The goals of the work file named in ECHO_WORK."""

    def load(self) -> Iterator[vf.Task]:
        work = json.loads(Path(os.environ["ECHO_WORK"]).read_text(encoding="utf-8"))
        for goal in work["goals"]:
            yield vf.Task(vf.TaskData(prompt=goal, system_prompt=work["system"]))


class EchoHarness(vf.Harness[vf.HarnessConfig]):
    """A chat loop with one tool, on one HTTP session for all rollouts."""

    APPENDS_SYSTEM_PROMPT = True
    EXECUTES_CODE = False
    NEEDS_CONTAINER = False
    http: aiohttp.ClientSession | None = None
    """Left open at the end: nothing tells a harness that the run is over."""

    async def launch(self, ctx, trace, runtime, endpoint, secret, mcp_urls, data) -> ProgramResult:
        if EchoHarness.http is None:
            EchoHarness.http = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))
        system, prompt = self.resolve_text_prompt(data)
        messages = [{"role": "system", "content": system}, {"role": "user", "content": prompt}]
        while True:
            body = {"model": ctx.model, "messages": messages, "tools": [ECHO]}
            headers = {"Authorization": f"Bearer {secret}"}
            async with EchoHarness.http.post(
                f"{endpoint}/chat/completions", json=body, headers=headers
            ) as reply:
                if reply.status != 200:
                    return ProgramResult(1, "", await reply.text())
                message = (await reply.json())["choices"][0]["message"]
            messages.append(message)
            if not message.get("tool_calls"):
                return ProgramResult(0, "", "")
            for call in message["tool_calls"]:
                text = json.loads(call["function"]["arguments"])["text"]
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": text})


__all__ = ["EchoHarness", "EchoTaskset"]
