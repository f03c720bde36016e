"""tau2-bench results: one document with `simulations`, a bare list of simulations, or one object
per task with `run_info`.

How a simulation ended decides before its reward does: runs that broke or hit a limit carry reward 0
without having been scored.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from synth.importers.attempt import OPEN_END, attempt, ends
from synth.importers.records import (
    Entry,
    Format,
    Imported,
    ImportedLabel,
    ImportSettings,
    Record,
    Rejection,
    each,
    is_object,
)
from synth.importers.tau2_messages import dialogue
from synth.importers.tau2_task import tau2_task
from synth.importers.trials import DeclaredTrial, numbered
from synth.schemas.check import CheckResult, SubVerdict
from synth.schemas.outcome import LIMITS

_ROUNDING = 1e-6
_MODEL = re.compile(r"llm_agent_(?P<model>.+?)_user_simulator")

ENDED = ends(
    {
        "done": "user_stop",
        "agent_stop": "agent_stop",
        "turn_limit": "max_steps",
        "time_limit": "timeout",
        "stuck": "too_many_errors",
        "context_limit": "context_window_exceeded",
        "fault model": "agent_error",
        "fault user_simulator": "user_error",
        "fault infrastructure": "infrastructure_error unexpected_error",
    }
)
"""What a `termination_reason` is here. One that is not listed leaves the outcome unknown, whatever
the reward says.
"""

_PARTS = {
    "action": ("action_checks", "action_match"),
    "communicate": ("communicate_checks", "met"),
    "env_assertion": ("env_assertions", "met"),
    "nl_assertion": ("nl_assertions", "met"),
}
"""Parts of a verdict: the list of their checks, and what says in one that it was met."""


class _Simulation(msgspec.Struct):
    """Of all three variants; in the one per task, `run_info` holds how it ended."""

    messages: list[dict[str, Any]]
    task_id: Any = None
    trial: Any = None
    seed: int | None = None
    termination_reason: str | None = None
    reward_info: dict[str, Any] | None = None
    task: dict[str, Any] | None = None
    run_info: dict[str, Any] = {}
    policy: str | None = None


class _Results(msgspec.Struct):
    """Of a document: what all its simulations share."""

    simulations: list[Any]
    tasks: list[dict[str, Any]] | None = None
    info: dict[str, Any] | None = None


class _Run(msgspec.Struct, frozen=True):
    """What the file says of the run."""

    tasks: Mapping[str, Mapping[str, Any]] = {}
    domain: str | None = None
    policy: str | None = None
    model: str | None = None
    sampling: Mapping[str, Any] = {}
    tools: tuple[dict[str, Any], ...] = ()


def recognises(value: Any) -> bool:
    """A list of simulations beside `tasks` or `info`; or one simulation, with messages and how it
    ended.
    """
    if is_object(value, simulations=list):
        return is_object(value, tasks=list) or is_object(value, info=dict)
    if not is_object(value, "task_id", messages=list):
        return False
    return is_object(value, "termination_reason") or is_object(value, run_info=dict)


def trajectories(
    records: Iterable[Record | Rejection], settings: ImportSettings
) -> Iterator[Entry]:
    """The simulations of one file; its first ones decide whether its trial numbers are any."""
    stated: dict[str, DeclaredTrial] = {}

    def read(record: Record) -> Entry | Iterator[Entry]:
        if is_object(record.value, "simulations"):
            return document(record)
        return _simulation(record, _Run(), settings, stated)

    def document(record: Record) -> Iterator[Entry]:
        results = msgspec.convert(record.value, _Results)
        run = _run(results)
        if not results.simulations:
            yield record.rejected("empty", "no simulations")
        parts = (
            record.part(f"simulations/{index}", value)
            for index, value in enumerate(results.simulations)
        )
        yield from each(parts, lambda one: _simulation(one, run, settings, stated))

    yield from numbered(each(records, read), stated)


FORMAT = Format(recognises, trajectories)


def _run(results: _Results) -> _Run:
    info = results.info or {}
    agent, environment = info.get("agent_info") or {}, info.get("environment_info") or {}
    if not isinstance(agent, Mapping) or not isinstance(environment, Mapping):
        raise ValueError("info.agent_info and info.environment_info are no objects")
    tools = environment.get("tool_defs")
    return _Run(
        tasks={str(task.get("id")): task for task in results.tasks or ()},
        domain=_text(environment.get("domain_name")),
        policy=_text(environment.get("policy")),
        model=_text(agent.get("llm")),
        sampling=agent["llm_args"] if isinstance(agent.get("llm_args"), Mapping) else {},
        tools=tuple(tool for tool in tools if isinstance(tool, dict))
        if isinstance(tools, list)
        else (),
    )


def _simulation(
    record: Record, run: _Run, settings: ImportSettings, stated: dict[str, DeclaredTrial]
) -> Entry:
    simulation = msgspec.convert(record.value, _Simulation)
    reason = simulation.termination_reason or _text(simulation.run_info.get("termination_reason"))
    termination, fault = ENDED.get(reason or "", OPEN_END)
    policy = simulation.policy or run.policy
    heard = dialogue(simulation.messages, policy)
    if not heard.conversation.turns and fault is None:
        return record.rejected("no_turns", "the agent said nothing: no result, not a failure")
    reward = _reward(simulation.reward_info)
    believed = reason is None or reason in ENDED
    passed = settings.passed(reward if believed else None, _ROUNDING)
    task = tau2_task(
        simulation.task or run.tasks.get(str(simulation.task_id)) or {},
        run.domain,
        heard.first_said,
    )
    found = attempt(
        record,
        "tau2",
        task,
        heard.conversation,
        passed=passed,
        reward=reward,
        termination=termination,
        fault=fault,
        fault_detail=None if fault is None else f"termination_reason {reason}",
        model=run.model or _model(record.file),
        sampling=run.sampling,
        seed=simulation.seed or 0,
        tools=run.tools,
        check_result=_checked(simulation.reward_info, passed)
        if termination not in LIMITS and fault is None
        else None,
    )
    stated[found.trajectory_id] = DeclaredTrial(task.task_id, simulation.trial, simulation.task_id)
    labels = heard.user_calls
    if policy is not None:
        source = {"from": "the policy text of the file: the agent's own prompt may say more"}
        labels += (ImportedLabel("synthesised_system_prompt", 1.0, None, source),)
    if not believed:
        detail = {"termination_reason": reason}
        labels += (ImportedLabel("unknown_termination", 1.0, None, detail),)
    return Imported(task, found, labels)


def _reward(info: Mapping[str, Any] | None) -> float | None:
    """The reward as stated. Raises `ValueError` for one that is no number."""
    reward = None if info is None else info.get("reward")
    if reward is None:
        return None
    if isinstance(reward, bool) or not isinstance(reward, int | float):
        raise ValueError(f"reward is {type(reward).__name__}, not a number")
    return float(reward)


def _checked(info: Mapping[str, Any] | None, passed: bool | None) -> CheckResult | None:
    """The scorer's parts; the reward is the product over `reward_basis` only, so a part may fail
    where the whole passed.
    """
    if info is None or passed is None:
        return None
    parts: list[SubVerdict] = []
    db = info.get("db_check")
    if isinstance(db, Mapping) and isinstance(db.get("db_match"), bool):
        parts.append(SubVerdict("db", db["db_match"]))
    for name, (key, flag) in _PARTS.items():
        checks = info.get(key)
        found = (
            [one for one in checks if isinstance(one, Mapping)] if isinstance(checks, list) else []
        )
        if found:
            missed = tuple(
                f"{name} {i}" for i, check in enumerate(found) if check.get(flag) is not True
            )
            parts.append(SubVerdict(name, not missed, missed))
    basis = info.get("reward_basis")
    return CheckResult(
        passed,
        tuple(parts),
        version="basis " + "+".join(map(str, basis)) if isinstance(basis, list) else "",
    )


def _model(file: str) -> str | None:
    """What the file's name claims, where nothing inside names the agent's model."""
    named = _MODEL.search(file.rsplit("/", 1)[-1])
    return named["model"] if named else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
