"""tau2-bench results: one document with `simulations`, a bare list of simulations, or one object
per task with `run_info`.

How a simulation ended decides before its reward does: runs that broke or hit a limit carry reward 0
without having been scored.
"""

import re
from functools import partial
from typing import Annotated, Any

import msgspec

from synth.importers.attempt import OPEN_END, ends, entry
from synth.importers.named_tasks import as_named
from synth.importers.records import (
    WORDS,
    Entry,
    Found,
    ImportedLabel,
    ImportSettings,
    Object,
    Record,
    by_record,
    each,
    inside,
    is_object,
)
from synth.importers.research.tau2_messages import Message, dialogue
from synth.importers.research.tau2_task import tau2_task
from synth.schemas import LIMITS, CheckResult, SubVerdict

ROUNDING = 1e-6
_MODEL = re.compile(r"llm_agent_(?P<model>.+?)_user_simulator")

ENDED = ends("tau2")
"""What a `termination_reason` is here. One that is not listed leaves the outcome unknown, whatever
the reward says.
"""


class _RewardInfo(msgspec.Struct, frozen=True):
    reward: float | None = None
    db_check: Object | None = None
    action_checks: list[Any] | None = None
    communicate_checks: list[Any] | None = None
    env_assertions: list[Any] | None = None
    nl_assertions: list[Any] | None = None
    reward_basis: list[Any] | None = None


class _Simulation(msgspec.Struct):
    """Of all three variants; in the one per task, `run_info` holds how it ended."""

    messages: list[Message]
    task_id: Any = None
    seed: Annotated[int, msgspec.Meta(ge=-(1 << 63), le=(1 << 63) - 1)] | None = None
    termination_reason: str | None = None
    reward_info: _RewardInfo | None = None
    task: Object | None = None
    run_info: Object = {}
    policy: str | None = None


def recognises(value: Any) -> bool:
    """A list of simulations beside `tasks` or `info`; or one simulation, with messages and how it
    ended.
    """
    if is_object(value, simulations=list):
        return is_object(value, tasks=list) or is_object(value, info=dict)

    if not is_object(value, "task_id", messages=list):
        return False
    return is_object(value, "termination_reason") or is_object(value, run_info=dict)


def _simulations(record: Record, settings: ImportSettings) -> Found:
    results = record.value
    if not is_object(results, simulations=list):
        return _simulation(record, {}, {}, settings)

    if not results["simulations"]:
        return record.rejected("empty", "no simulations")

    tasks = {str(task.get("id")): task for task in results.get("tasks") or ()}
    read = partial(_simulation, run=results.get("info") or {}, tasks=tasks, settings=settings)
    return each(record.parts("simulations", results["simulations"]), read)


FORMAT = by_record(recognises, _simulations, as_named)


def _simulation(
    record: Record, run: Object, tasks: dict[str, Object], settings: ImportSettings
) -> Entry:
    simulation = msgspec.convert(record.value, _Simulation)
    info = simulation.reward_info or _RewardInfo()
    reason = simulation.termination_reason or inside(simulation.run_info, "termination_reason", str)
    end = termination, fault = ENDED.get(reason or "", OPEN_END)
    policy = simulation.policy or inside(run, "environment_info.policy", str) or None
    conversation, labels = dialogue(simulation.messages, policy)
    if policy is not None:
        source = {"from": "the policy text of the file: the agent's own prompt may say more"}
        labels.append(ImportedLabel("synthesised_system_prompt", 1.0, None, source))

    passed = settings.passed(info.reward, ROUNDING)
    if reason and reason not in ENDED:
        detail = {"termination_reason": reason}
        labels.append(ImportedLabel("unknown_termination", 1.0, None, detail))
        passed = None

    task = simulation.task or tasks.get(str(simulation.task_id)) or {}

    return entry(
        record,
        "tau2",
        conversation,
        **tau2_task(task, inside(run, "environment_info.domain_name", str), conversation),
        **_stated(record, run),
        marks=labels,
        # an attempt that broke before the agent's first word is a fault, not nothing
        no_turns=None if fault else "the agent said nothing: no result, not a failure",
        passed=passed,
        reward=info.reward,
        end=end,
        fault_detail=f"termination_reason {reason}",
        seed=simulation.seed or 0,
        check_result=None if termination in LIMITS or fault else _checked(info, passed),
    )


def _stated(record: Record, run: Object) -> Object:
    """What the file says of the agent; its name, where nothing inside names the model."""
    named = _MODEL.search(record.file_name)
    tools = inside(run, "environment_info.tool_defs", list) or ()

    return {
        "model": inside(run, "agent_info.llm", str) or (named and named["model"]),
        "sampling": inside(run, "agent_info.llm_args", dict) or {},
        "tools": tuple(tool for tool in tools if isinstance(tool, dict)),
    }


def _checked(info: _RewardInfo, passed: bool | None) -> CheckResult | None:
    """The scorer's parts; the reward is the product over `reward_basis` only, so a part may fail
    where the whole passed.
    """
    if passed is None:
        return None

    db = inside(info.db_check, "db_match", bool)
    parts = [] if db is None else [SubVerdict("db", db)]

    for name, (key, flag) in WORDS["tau2"]["parts"].items():
        checks = getattr(info, key) or []
        met = [check.get(flag) is True for check in checks if isinstance(check, dict)]
        missed = tuple(f"{name} {place}" for place, good in enumerate(met) if not good)
        if met:
            parts.append(SubVerdict(name, not missed, missed))

    basis = info.reward_basis
    version = "" if basis is None else "basis " + "+".join(map(str, basis))
    return CheckResult(passed, tuple(parts), version=version)
