"""Asks a world every question, each part on its own thread and with its own limit of time."""

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any

from envs.audit.questions import QUESTIONS, Question
from envs.audit.report import Answer, Limits, Report, Table
from envs.conformance.finding import Bench, Finding
from envs.conformance.guard import Answer as Answered
from envs.conformance.guard import Broke, answered, on_thread
from envs.conformance.suite import CHECKS
from envs.world import World
from schemas.errors import SynthError
from schemas.task import Task


async def audit(
    world: World,
    settings: Mapping[str, Any],
    *,
    seed: int,
    tasks: int,
    limits: Limits | None = None,
    questions: Sequence[Question] = QUESTIONS,
    say: Callable[[Answer], None] = lambda answer: None,
) -> Report:
    """The report on a world with these settings, over that many tasks made from the seed; `say` is told each answer as it comes.

    Raises `SynthError` where the world refuses the settings; any other exception of `make_tasks` is an answer.
    """
    limits = limits or Limits()
    made = await _tasks(world, settings, seed, max(tasks, 1), limits)
    if isinstance(made, Broke):
        finding = Finding("make_tasks", False, f"no task to ask about: {made.reason}")
        say(broken := Answer(QUESTIONS[0].name, QUESTIONS[0].asked, (finding,), (), 0.0))
        return _report(world, settings, seed, 0, [broken])
    answers = []
    for question in questions:
        answers.append(await _answer(question, world, settings, seed, made, limits))
        say(answers[-1])
    return _report(world, settings, seed, len(made), answers)


def _report(world: World, settings: Mapping[str, Any], seed: int, tasks: int, answers: Sequence[Answer]) -> Report:
    return Report(world.spec.name, world.spec.version, world.spec.licence, dict(settings), seed, tasks, tuple(answers))


async def _tasks(world: World, settings: Mapping[str, Any], seed: int, count: int, limits: Limits) -> Sequence[Task] | Broke:
    """The tasks, or why there are none. Raises `SynthError` of the world."""

    async def made() -> Sequence[Task] | SynthError:
        try:
            return world.make_tasks(settings, seed, count)
        except SynthError as error:
            return error

    match await answered(made(), limits.part_s):
        case Answered(SynthError() as error):
            raise error
        case Answered(given) if given and not isinstance(given, SynthError):
            return given
        case Broke() as broke:
            return broke
    return Broke("make_tasks made none")


async def _answer(
    question: Question, world: World, settings: Mapping[str, Any], seed: int, tasks: Sequence[Task], limits: Limits
) -> Answer:
    began = time.monotonic()
    tables: list[Table] = []
    parts: dict[str, Callable[[Bench], Awaitable[Finding]]] = {name: CHECKS[name] for name in question.checks}
    parts |= {part.__name__: partial(_measured, part, limits, tables) for part in question.measured}
    findings = []
    for name, part in parts.items():
        bench = Bench(world, settings, seed, tasks, limits.input_s)
        findings.append(await on_thread(name, part, bench, limits.part_s))
    return Answer(question.name, question.asked, tuple(findings), tuple(tables), time.monotonic() - began, question.headline)


async def _measured(part: Callable[..., Awaitable[Finding]], limits: Limits, tables: list[Table], bench: Bench) -> Finding:
    return await part(bench, limits, tables)
