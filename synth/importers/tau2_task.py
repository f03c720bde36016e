"""A tau2 task as ours: what its user knows, the actions that its authors expect of the agent, and
what is checked.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from synth.importers.attempt import import_task
from synth.schemas.task import Task
from synth.schemas.trajectory import ToolCall


def tau2_task(task: Mapping[str, Any], domain: str | None, first_said: str) -> Task:
    """The task of an attempt; `first_said` by the user stands in where the file holds no task.

    A task is what its user is told, not its number: numbers are reused, and one number has had two
    texts. Gold are the agent's actions only; those that the user is expected to take are part of
    the script.
    """
    scenario = _mapping(task.get("user_scenario"))
    told = scenario.get("instructions")
    named = domain or (told.get("domain") if isinstance(told, Mapping) else None)
    where = named if isinstance(named, str) and named else "unknown"
    criteria = _mapping(task.get("evaluation_criteria"))
    actions = criteria.get("actions")
    by_user = [action for action in _list(actions) if action.get("requestor") == "user"]
    checked = {
        name: criteria.get(name)
        for name in ("communicate_info", "nl_assertions", "env_assertions", "reward_basis")
    }
    return import_task(
        f"tau2/{where}",
        _goal(told) or first_said,
        gold=None
        if actions is None
        else tuple(
            _gold(i, a) for i, a in enumerate(_list(actions)) if a.get("requestor") != "user"
        ),
        script=_present(
            {
                "persona": scenario.get("persona"),
                "instructions": told,
                "user_actions": by_user,
                **checked,
            }
        ),
        env_config=_present(
            {
                "initial_state": _present(_mapping(task.get("initial_state"))),
                "ticket": task.get("ticket"),
            }
        ),
        benchmark=f"tau2-bench/{where}",
    )


def _goal(told: Any) -> str:
    """What the user wants, in the file's words."""
    if isinstance(told, str):
        return told
    parts = (
        [told.get(name) for name in ("reason_for_call", "task_instructions")]
        if isinstance(told, Mapping)
        else []
    )
    return "\n".join(part for part in parts if isinstance(part, str) and part)


def _gold(index: int, action: Mapping[str, Any]) -> ToolCall:
    name = action.get("name")
    if not isinstance(name, str):
        raise ValueError(f"evaluation_criteria.actions[{index}] has no name")
    return ToolCall.received(
        f"gold_{index}", name, json.dumps(action.get("arguments") or {}, ensure_ascii=False)
    )


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> Sequence[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def _present(values: Mapping[str, Any]) -> dict[str, Any]:
    """Without what is empty: versions of the format differ in the keys that they leave out."""
    return {name: value for name, value in values.items() if value not in (None, [], {}, "")}
