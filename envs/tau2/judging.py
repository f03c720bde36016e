"""The benchmark's own evaluation without a model, as facts and a check over them: what works in the
end, what the database holds, which calls were made and went well, what the user was told.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from synth.envs.echo_check import state_verdicts
from synth.envs.tau2.package import Domain, called
from synth.schemas import Check, Facts, RowPredicate, Scalar

ASKED = ("goal/", "act/", "told/")
FREE = tuple(f"{table}*/*" for table in ASKED)


class Deeds(msgspec.Struct):
    """What counts towards a verdict and is in no database, by number in the task."""

    acts: set[int] = set()
    told: set[int] = set()


def note_call(task: Any, deeds: Deeds, call: Any, answer: Any) -> None:
    """Counts a call that went well: one that was only emitted is none."""
    if not answer.error:
        for place, action in enumerate(task.evaluation_criteria.actions or ()):
            if action.compare_with_tool_call(call):
                deeds.acts.add(place)


def note_words(task: Any, deeds: Deeds, words: str) -> None:
    """Counts what was told, as the benchmark reads it: anywhere in the words, commas apart."""
    plain = words.lower().replace(",", "")
    for place, wanted in enumerate(task.evaluation_criteria.communicate_info or ()):
        if wanted.lower() in plain:
            deeds.told.add(place)


def facts_of(domain: Domain, task: Any, env: Any, deeds: Deeds) -> Facts:
    """The databases' facts, and those that the evaluation asks for."""
    return {**domain.facts(env), **dict(_asked(task, env, deeds))}


def _asked(task: Any, env: Any, deeds: Deeds) -> Iterator[tuple[str, Scalar]]:
    if task is None:
        return
    basis, criteria = _basis(task), task.evaluation_criteria
    if "ENV_ASSERTION" in basis:
        for place, one in enumerate(criteria.env_assertions or ()):
            met = env.run_env_assertion(one, raise_assertion_error=False)
            yield f"goal/{place}/met", bool(met)
    if "ACTION" in basis:
        for place, _ in enumerate(criteria.actions or ()):
            yield f"act/{place}/done", place in deeds.acts
    if "COMMUNICATE" in basis:
        for place, _ in enumerate(criteria.communicate_info or ()):
            yield f"told/{place}/said", place in deeds.told


class AskedFor(NamedTuple):
    """What a task asks for, and those of its authors' actions that go well: some begin with a
    look-up that finds nothing.
    """

    check: Check
    gold: tuple[Any, ...]


def asked_of(domain: Domain, task: Any) -> AskedFor | str:
    """What a task asks for; or why it is left out: a model judges it, or it is not told apart from
    doing nothing, or its authors' own actions do not solve it.
    """
    basis, criteria = _basis(task), task.evaluation_criteria
    if criteria is None or not basis <= {"DB", "ENV_ASSERTION", "ACTION", "COMMUNICATE"}:
        return "judged_by_a_model"

    start, end, gold = _played(domain, task)
    wanted: dict[str, Scalar] = {path: True for path in end if path.startswith(ASKED)}
    wanted |= dict(_changed(start, end)) if "DB" in basis else {}
    protected = ("*/*/*",) if "DB" in basis else FREE
    check = Check(required=tuple(_rows(wanted)), free=FREE, protected=protected)

    if passes(check, start, start):
        return "passed_by_doing_nothing"
    solved = passes(check, start, end)
    return AskedFor(check, gold) if solved else "not_solved_by_its_own_actions"


def _played(domain: Domain, task: Any) -> tuple[Facts, Facts, tuple[Any, ...]]:
    """The facts before and after the authors' own actions, and those of them that went well."""
    env, deeds, gold = domain.begun(task), Deeds(), list[Any]()
    start = facts_of(domain, task, env, deeds)
    for action in task.evaluation_criteria.actions or ():
        call, answer = called(env, action.name, action.arguments)
        note_call(task, deeds, call, answer)
        gold += [] if answer.error else [action]
    note_words(task, deeds, " ".join(task.evaluation_criteria.communicate_info or ()))
    return start, facts_of(domain, task, env, deeds), tuple(gold)


def passes(check: Check, start: Facts, end: Facts) -> bool:
    """Whether both parts hold."""
    return all(part.passed for part in state_verdicts(check, start, end))


def _basis(task: Any) -> set[str]:
    criteria = task.evaluation_criteria
    return set() if criteria is None else {one.value for one in criteria.reward_basis}


def _changed(start: Facts, end: Facts) -> Iterator[tuple[str, Scalar]]:
    """Facts of the database that the authors' actions change."""
    for path, value in end.items():
        if not path.startswith(ASKED) and (path not in start or start[path] != value):
            yield path, value


def _rows(wanted: Mapping[str, Scalar]) -> Iterator[RowPredicate]:
    rows: defaultdict[tuple[str, str], dict[str, Scalar]] = defaultdict(dict)
    for path, value in sorted(wanted.items()):
        table, key, column = path.split("/", 2)
        rows[table, key][column] = value
    for (table, key), columns in rows.items():
        yield RowPredicate(table, {"id": key, **columns})
