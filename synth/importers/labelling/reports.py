"""Reports of harnesses as rows of labels: SWE-bench, Harbor, Terminal-Bench, tau-bench, tau2."""

import re
from collections.abc import Iterator
from typing import Any

from synth.importers.chats.columns import names_of
from synth.importers.labelling.annotations import annotation, is_annotation
from synth.importers.labelling.rows import KEYS, SAYS, LabelRow, generic
from synth.importers.records import (
    Imported,
    ImportSettings,
    Record,
    Rejection,
    inside,
    is_object,
)
from synth.importers.registry import importer
from synth.importers.verdicts import is_verdict_word, verdict

_LISTS = ("results", "rows", "data", "labels", "annotations", "trials", "trial_results")


def label_rows(record: Record, settings: ImportSettings) -> Iterator[LabelRow | Rejection]:
    """What a record says of trajectories, whichever report it is. Raises `ValueError`."""
    value = record.value
    if is_annotation(value):
        yield annotation(record)
    elif _is_swe_run(value):
        yield from _swe_run(record)
    elif is_swe_instances(value):
        for name, one in value.items():
            resolved, part = inside(one, "resolved", bool), record.part(name, one)
            yield LabelRow(record=part, keys=(name,), success=resolved)
    elif is_object(value, "verifier_result"):
        yield _trial(record)
    elif is_object(inside(value, "stats"), evals=dict):
        yield from _job(record)
    elif tau := _tau(value):
        yield from _tau_rows(record, tau, settings)
    elif key := next((key for key in _LISTS if is_object(value, **{key: list})), None):
        for part in record.parts(key, value[key]):
            yield from label_rows(part, settings)
    elif _is_map(value):
        for name, one in value.items():
            yield _named(record.part(name, one), name)
    elif _is_map_of_rows(value):
        for name, one in value.items():
            part = record.part(name, one)
            yield generic(part, settings, (name,))
    else:
        yield generic(record, settings)


def _is_swe_run(value: Any) -> bool:
    if is_object(value, resolved_ids=list):
        return True
    others = ("applied", "no_generation", "unresolved", "no_apply", "generated", "test_errored")
    return is_object(value, resolved=list) and any(key in value for key in others)


def _swe_run(record: Record) -> Iterator[LabelRow]:
    """A run's report: who resolved, who did not, and for whom the harness has no verdict."""
    value = record.value
    told: dict[str, tuple[bool | None, str | None]] = {}
    for keys, success, why in (
        (("submitted_ids", "completed_ids", "applied", "generated", "with_logs"), False, None),
        (("unresolved_ids", "unresolved", "empty_patch_ids", "no_generation"), False, None),
        (("incomplete_ids",), None, "not submitted"),
        (("error_ids", "failed_ids", "test_errored", "test_timeout"), None, "the harness broke"),
        (("pending_ids",), None, "not judged yet"),
        (("resolved_ids", "resolved"), True, None),
    ):
        for key in keys:
            for name in value.get(key) or () if isinstance(value.get(key), list) else ():
                if isinstance(name, str):
                    told[name] = (success, why)

    for name, (success, why) in told.items():
        called = (name, *_instance(name))
        said = record.part(name, name)
        yield LabelRow(record=said, keys=called, success=success, no_verdict=why)


def _instance(name: str) -> Iterator[str]:
    """What Multi-SWE-bench's trajectories call an instance: its reports say `org/repo:pr-1`."""
    if found := re.fullmatch(r"([\w.-]+)/([\w.-]+):pr-(\d+)", name):
        yield f"{found[1]}__{found[2]}-{found[3]}"


def is_swe_instances(value: Any) -> bool:
    """Whether a record has for each instance of SWE-bench what came of it."""
    return (
        isinstance(value, dict)
        and bool(value)
        and all(is_object(one, "resolved") for one in value.values())
    )


def _trial(record: Record) -> LabelRow:
    """A trial of Harbor: its reward, unless the trial itself broke."""
    value = record.value
    rewards = inside(value, "verifier_result.rewards", dict) or {}
    reward = rewards.get("reward", next(iter(rewards.values()), None))
    if reward is None:
        reward = inside(value, "verifier_result.reward")
    broke = inside(value, "exception_info.exception_type") or inside(value, "exception_info")
    known = isinstance(reward, int | float)
    return LabelRow(
        record=record,
        keys=tuple(dict.fromkeys((*_folder(record), *names_of(value)))),
        reward=float(reward) if known else None,
        no_verdict=None if known else f"no reward: {broke or 'the verifier gave none'}",
    )


def _folder(record: Record) -> tuple[str, ...]:
    """The folder that a result lies in, which its trajectory shares."""
    parts = record.file.split("/")[:-1]
    return (parts[-1],) if parts else ()


def _job(record: Record) -> Iterator[LabelRow]:
    """A job of Harbor: trials by reward, and by what broke them."""
    for name, one in record.value["stats"]["evals"].items():
        rewards = inside(one, "reward_stats.reward", dict) or {}
        for reward, trials in rewards.items():
            for trial in trials if isinstance(trials, list) else ():
                yield LabelRow(
                    record=record.part(f"{name}/{trial}", reward),
                    keys=(str(trial),),
                    reward=float(reward),
                )


def _tau(value: Any) -> str | None:
    """The importer that reads a result of tau, where it is one."""
    return next((name for name in ("tau2", "tau_bench") if importer(name).recognises(value)), None)


def _tau_rows(record: Record, name: str, settings: ImportSettings) -> Iterator[LabelRow]:
    """Verdicts of a result of tau: by task and trial, as the file numbers them."""
    for one in importer(name).read([record], settings):
        if not isinstance(one, Imported):
            continue
        trial, task_id = one.declared
        trajectory = one.trajectory
        broke = None if trajectory.fault is None else f"it broke: {trajectory.fault}"
        part = record.part(trajectory.trajectory_id, {})
        yield LabelRow(
            record=part,
            keys=tuple(dict.fromkeys((*one.names, str(task_id)))),
            trial=trial if isinstance(trial, int) else None,
            reward=trajectory.reward,
            no_verdict=broke,
        )


def _is_map(value: Any) -> bool:
    """An object of verdicts or rewards by name."""
    return (
        is_object(value)
        and bool(value)
        and all(_is_said(one) for one in value.values())
        and not any(key in SAYS for key in value)
    )


def _is_said(value: Any) -> bool:
    return isinstance(value, bool | int | float) or (
        isinstance(value, str) and is_verdict_word(value)
    )


def _is_map_of_rows(value: Any) -> bool:
    """An object of rows by name (`{"run-1": {"passed": true}}`), of which none names itself."""
    return (
        is_object(value)
        and bool(value)
        and all(isinstance(one, dict) and any(key in SAYS for key in one) for one in value.values())
        and not any(key in (*SAYS, *KEYS) for key in value)
    )


def _named(record: Record, name: str) -> LabelRow:
    value = record.value
    if isinstance(value, bool | str):
        return LabelRow(record=record, keys=(name,), success=verdict(value))
    return LabelRow(record=record, keys=(name,), reward=float(value))
