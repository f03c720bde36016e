"""Asks a world every question, or runs every check alone; each part on its own thread and with its
own limit of time.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from synth.boundary import FaultError
from synth.engine.table import Table
from synth.envs.audit.questions import CHECKS, QUESTIONS, AuditQuestion
from synth.envs.audit.report import AuditAnswer, Report
from synth.envs.conformance.finding import (
    AuditLimits,
    ConformanceRig,
    FailedError,
    QuestionFinding,
    passes,
)
from synth.envs.conformance.guard import answered, on_thread
from synth.envs.world import EnvEntry
from synth.rollout.answers import checked, stepped
from synth.rollout.given import Given, copied
from synth.schemas.environment import AgentTurn, Response
from synth.schemas.errors import SynthError
from synth.schemas.task import Task
from synth.schemas.trajectory import ToolCall

_NO_TASK = ("no task to ask about", "make_tasks")


async def audit(
    world: EnvEntry,
    settings: Mapping[str, Any],
    *,
    seed: int,
    tasks: int,
    limits: AuditLimits | None = None,
    questions: Sequence[AuditQuestion] = QUESTIONS,
    say: Callable[[AuditAnswer], None] = lambda answer: None,
    given: Sequence[Task] = (),
) -> Report:
    """The report on a world with these settings, over that many tasks made from the seed, or over
    those `given`; `say` is told each
    answer as it comes.

    Raises `SynthError` where the world refuses the settings; any other exception of `make_tasks`,
    of opening the world or of its first
    reset is the only answer.
    """
    limits = limits or AuditLimits()
    answers: list[AuditAnswer] = []
    made: Sequence[Task] = ()

    def told(answer: AuditAnswer) -> None:
        answers.append(answer)
        say(answer)

    try:
        made = given or await _tasks(world, settings, seed, max(tasks, 1), limits)
        await _begun(world, settings, made[0], limits)
        for question in questions:
            told(await _answer(question, world, settings, seed, made, limits, derived=bool(given)))
    except FailedError as error:
        what, name = ("nothing can be asked", "first_reset") if made else _NO_TASK
        finding = QuestionFinding(False, f"{what}: {error}", name)
        told(AuditAnswer(QUESTIONS[0].name, QUESTIONS[0].asked, (finding,), (), 0.0))
    spec, count = world.spec, len(made)
    return Report(spec.name, spec.version, spec.licence, dict(settings), seed, count, answers)


async def _tasks(
    world: EnvEntry, settings: Mapping[str, Any], seed: int, count: int, limits: AuditLimits
) -> Sequence[Task]:
    """The tasks. Raises `SynthError` of the world, `FailedError` where there are none."""

    async def made() -> Sequence[Task] | SynthError:
        try:
            return world.make_tasks(settings, seed, count)
        except SynthError as error:
            return error

    found = await answered(made(), limits.part_s)
    if isinstance(found, SynthError):
        raise found
    if not found:
        derives = "; a run of `reverse_task` derives some, `synth audit --from RUN` asks about them"
        raise FailedError(f"make_tasks made none{derives if world.write_goal else ''}")
    return found


async def _begun(
    world: EnvEntry, settings: Mapping[str, Any], task: Task, limits: AuditLimits
) -> None:
    """Raises `FailedError` where no episode begins, or something is of the wrong type in one, and
    `SynthError` of the world.

    What it raises in a step or a check is for the questions to find.
    """
    refused: list[SynthError] = []

    async def begun(bench: ConformanceRig) -> QuestionFinding:
        turn = AgentTurn(tool_calls=(ToolCall.received("first", "no_such_tool", "{}"),))
        try:
            env = bench.open()
            await Given(task).opened(env)
            with suppress(FailedError):
                await answered(env.check(), limits.input_s)
                await checked(env)
            with suppress(FailedError):
                response = await answered(env.step(turn), limits.input_s)
                await stepped(_at_once(response), 0, None)
            await env.close()
        except FaultError as fault:
            return QuestionFinding(False, fault.detail)
        except SynthError as error:
            refused.append(error)
        return QuestionFinding(True)

    bench = ConformanceRig(world, settings, 0, [task], limits.input_s)
    found = await on_thread("first_reset", begun, bench, limits.part_s)
    for error in refused:
        raise error
    passes(found.passed is True, found.detail.removesuffix(", at: the start"))


async def _at_once(response: Response) -> Response:
    return response


async def _answer(
    question: AuditQuestion,
    world: EnvEntry,
    settings: Mapping[str, Any],
    seed: int,
    tasks: Sequence[Task],
    limits: AuditLimits,
    *,
    derived: bool,
) -> AuditAnswer:
    began = time.monotonic()
    tables: list[Table] = []
    findings = []
    for part in (*question.checks, *question.measured):
        own = list(map(copied, tasks))
        bench = ConformanceRig(
            *(world, settings, seed, own, limits.input_s, limits), given=derived, tables=tables
        )
        findings.append(await on_thread(part.__name__, part, bench, limits.part_s))
    took_s = time.monotonic() - began
    name, asked = question.name, question.asked
    return AuditAnswer(name, asked, tuple(findings), tuple(tables), took_s, question.headline)


async def conformance(
    world: EnvEntry,
    config: Mapping[str, Any],
    *,
    seed: int,
    tasks: int,
    call_limit_s: float = 5.0,
    check_limit_s: float = 120.0,
) -> list[QuestionFinding]:
    """Every check's finding, in the order of `CHECKS`, on that many tasks (at least one) made from
    the seed.

    A call may take `call_limit_s`, a whole check `check_limit_s`. Raises what `make_tasks` raises
    for wrong settings.
    """
    made = world.make_tasks(config, seed, max(tasks, 1))
    return [
        await on_thread(
            name, check, ConformanceRig(world, config, seed, made, call_limit_s), check_limit_s
        )
        for name, check in CHECKS.items()
    ]
