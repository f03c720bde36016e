"""A tau2 task as ours: what its user knows, the actions that its authors expect of the agent, and
what is checked.
"""

from typing import Any

from synth.importers.attempt import gold_action
from synth.importers.conversation import heard
from synth.importers.identity.known import benchmark_of
from synth.importers.records import Object, inside
from synth.schemas import Conversation, Source, ToolCall

_CHECKED = ("communicate_info", "nl_assertions", "env_assertions", "reward_basis")


def tau2_task(task: Object, domain: str | None, conversation: Conversation) -> Object:
    """What `entry` is told of the task of an attempt; what the user first said stands in where the
    file holds no task.

    A task is what its user is told, not its number: numbers are reused, and one number has had two
    texts. Gold are the agent's actions only; those that the user is expected to take are part of
    the script. Raises `ValueError` for an action without a name.
    """
    told = inside(task, "user_scenario.instructions")
    where = domain or inside(told, "domain", str) or "unknown"
    expected = inside(task, "evaluation_criteria.actions")
    actions = [one for one in expected or () if isinstance(one, dict)]
    script = {name: inside(task, f"evaluation_criteria.{name}") for name in _CHECKED}
    by_user = [one for one in actions if one.get("requestor") == "user"]
    persona = inside(task, "user_scenario.persona")
    state = _present(inside(task, "initial_state", dict) or {})

    return {
        "env": f"tau2/{where}",
        "goal": _goal(told, conversation),
        "benchmark": _benchmark(told, domain, conversation),
        "identified": True,
        "task": {
            "gold": None if expected is None else _gold(actions),
            "script": _present(
                {"persona": persona, "instructions": told, "user_actions": by_user, **script}
            ),
            "env_config": _present({"initial_state": state, "ticket": task.get("ticket")}),
        },
    }


def _gold(actions: list[Object]) -> tuple[ToolCall, ...]:
    """The actions that are expected of the agent."""
    return tuple(
        gold_action(at, one.get("name"), one.get("arguments") or {})
        for at, one in enumerate(actions)
        if one.get("requestor") != "user"
    )


def instructions_text(told: Any) -> str:
    """What a user is told, as one text: the parts that tell tasks apart."""
    if isinstance(told, str):
        return told
    parts = ("reason_for_call", "known_info", "task_instructions")
    return "\n".join(filter(None, (inside(told, name, str) for name in parts)))


def _benchmark(told: Any, domain: str | None, conversation: Conversation) -> str | None:
    """The public set that the task is one of: its text decides; where the file holds none, the
    policy does. Where nothing is there that could tell, it may be a public one.
    """
    text, policy = instructions_text(told), conversation.system_prompt or ""
    if text:
        return benchmark_of(text, "task", "tau2-bench")
    if policy:
        return benchmark_of(policy, "policy", "tau2-bench")
    if domain is not None and domain not in _PUBLIC:
        return None
    return f"tau2-bench/{domain or 'unknown'}"


_PUBLIC = ("airline", "retail", "telecom", "telecom-workflow", "banking_knowledge")
"""Domains of tau2-bench itself."""


def _goal(told: Any, conversation: Conversation) -> str:
    """What the user wants, in the file's words."""
    if isinstance(told, str) and told:
        return told

    parts = (inside(told, name, str) for name in ("reason_for_call", "task_instructions"))
    said = (one.content for one in heard(conversation) if one.source is Source.USER)
    return "\n".join(filter(None, parts)) or next(filter(None, said), "")


def _present(values: Object) -> Object:
    """Without what is empty: versions of the format differ in the keys that they leave out."""
    return {name: value for name, value in values.items() if value not in (None, [], {}, "")}
