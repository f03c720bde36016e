"""The benchmark's tasks as ours: what is left out, and what is said of each."""

import json
from collections.abc import Sequence
from functools import cache
from random import Random
from typing import Any

from synth.envs.tau2.judging import asked_of
from synth.envs.tau2.package import Domain, domain
from synth.envs.tau2.settings import Tau2Config
from synth.schemas import ConfigError, Task, ToolCall

TRANSFER = "transfer_to_human_agents"
POLICY = "policy"
"""In a task's script, where a log was made under another one than the package's."""
HELD_OUT = "test"
"""The benchmark's own split of that name."""


def tasks_of(name: str, config: Tau2Config, seed: int, count: int) -> Sequence[Task]:
    """At most that many tasks, in an order of the seed's; those that cannot be asked are left
    out.
    """
    found, known = list[Task](), domain(config.domain)
    ids = list(known.splits["base"] if config.tasks_from == "base" else known.ids)
    Random(f"tau2 {seed}").shuffle(ids)
    for identity in ids:
        if len(found) == count:
            break
        made = made_task(name, config.domain, identity)
        if isinstance(made, Task) and (config.transfers or not hands_over(made)):
            found.append(made)
    return found


def hands_over(task: Task) -> bool:
    """Whether its authors do nothing but hand the customer over."""
    return [call.name for call in task.gold or ()] == [TRANSFER]


@cache
def made_task(name: str, of: str, identity: str) -> Task | str:
    """A task of a domain, or the reason why there is none: see `asked_of`."""
    known = domain(of)
    task = known.task(identity)
    asked = asked_of(known, task)
    if isinstance(asked, str):
        return asked
    return Task.identified(
        env=name,
        env_config={"domain": of},
        goal=task.ticket if known.solo else str(task.user_scenario.instructions),
        check=asked.check,
        gold=tuple(_gold(place, one) for place, one in enumerate(asked.gold)),
        script={"task": identity, "digest": known.digest(identity)},
        split=HELD_OUT if identity in known.splits.get(HELD_OUT, ()) else None,
        benchmark=f"tau2-bench/{of}",
        difficulty={"actions": len(asked.gold)},
    )


def _gold(place: int, action: Any) -> ToolCall:
    return ToolCall.received(f"gold_{place}", action.name, json.dumps(action.arguments))


def with_policy(task: Task, policy: str) -> Task:
    """The task of an agent that was told another policy than the package's."""
    if policy == domain(str(task.env_config["domain"])).policy:
        return task
    script = {**task.script, POLICY: policy}
    fields = {name: getattr(task, name) for name in task.__struct_fields__ if name != "task_id"}
    return Task.identified(**{**fields, "script": script})


def task_in(known: Domain, task: Task) -> Any:
    """The package's task behind ours. Raises `ConfigError` where it is another one now."""
    identity = str(task.script.get("task"))
    found = known.task(identity)
    if known.digest(identity) != task.script.get("digest"):
        raise ConfigError(
            f"tau2: task {identity!r} of {known.name} was made with another version of the "
            "package; install that one, or make the tasks anew"
        )
    return found
