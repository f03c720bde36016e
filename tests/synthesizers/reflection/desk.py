"""The echo world played by a model that stutters unless it was told not to, and diagnosed by
another one behind the same server.
"""

import json
from collections.abc import Callable
from typing import Any

from synth.ledger.ledger import StoredLedger
from synth.ledger.views import connect
from synth.schemas.flow import Flow
from synth.synthesizers.reflection.chain_rows import CHAIN, REFLECTION
from tests.flow_files import echo_flow
from tests.synth.models.chat_brains import Body, called, echo_expert

LESSON = "Say every word once, and look at what was said before saying the next."
DIAGNOSIS: dict[str, Any] = {
    "trajectory_summary": "It echoed the first word twice.",
    "root_cause_analysis": "It did not look at what had been said.",
    "trajectory_outcome": "failure",
    "improvement_suggestion": LESSON,
    "retry_from_step": "1",
}


def diagnosis(**changes: Any) -> str:
    return json.dumps(DIAGNOSIS | changes)


def asks_for_reflection(body: Body) -> bool:
    return str(body["messages"][0]["content"]).startswith("You diagnose attempts")


def guided(body: Body) -> bool:
    return any(m["role"] == "system" and "keep in mind" in m["content"] for m in body["messages"])


def stutterer(
    reply: Callable[[Body], str] = lambda body: diagnosis(),
) -> Callable[[Body], dict[str, Any]]:
    """A brain: reflections as `reply` says; as an agent it says the first word twice, or, guided,
    does what is asked.
    """

    def brain(body: Body) -> dict[str, Any]:
        if asks_for_reflection(body):
            return {"role": "assistant", "content": reply(body)}
        done = [
            m["tool_calls"][0]["function"]
            for m in body["messages"]
            if m["role"] == "assistant" and m.get("tool_calls")
        ]
        if len(done) == 1 and not guided(body):
            return called("echo", json.loads(done[0]["arguments"]), "call_1")
        return echo_expert(body)

    return brain


def reflecting_flow(
    url: str, retry: dict[str, Any] | None = None, *stages: Any, trials: int = 1, **changes: Any
) -> Flow:
    """Two tasks of three words, played by the stutterer, then the stage under test."""
    model = {"model": "test", "base_url": url, "timeout_s": 5, "max_retries": 1}
    models = changes.pop("models", {"explorer": model, "reflector": model})
    return echo_flow(
        env=changes.pop("env", {"name": "echo", "tasks": 2, "turns": 3}),
        models=models,
        stages=[{"rollout": {"trials": trials}}, {"reflect_retry": retry or {}}, *stages],
        **changes,
    )


def details(ledger: StoredLedger, metric: str, view: str = "scores") -> list[dict[str, Any]]:
    """The details of a metric's rows, in the order of their chains and attempts."""
    assert metric in (CHAIN, REFLECTION)
    with connect(ledger) as connection:
        rows = connection.execute(
            f"SELECT detail FROM {view} WHERE metric = ?", [metric]
        ).fetchall()
    return sorted(
        (json.loads(text) for (text,) in rows),
        key=lambda detail: (detail["chain"], detail.get("attempt", 0)),
    )
