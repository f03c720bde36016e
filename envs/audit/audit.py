"""Asks an environment every question, each part on a thread and with a limit of time of its own."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from synth.boundary import FaultError
from synth.engine.table import Table
from synth.envs.audit.questions import QUESTIONS, AuditQuestion
from synth.envs.audit.report import AuditAnswer, Report
from synth.envs.conformance.finding import (
    AuditLimits,
    ConformanceRig,
    FailedError,
    QuestionFinding,
)
from synth.envs.conformance.guard import answered, on_thread
from synth.envs.world import EnvEntry
from synth.rollout.answers import checked, stepped
from synth.rollout.given import Given, copied
from synth.schemas import AgentTurn, Response, SynthError, Task, ToolCall


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
    """The report on an environment with these settings, over that many tasks made from the seed,
    or over those `given`; `say` is called with each answer as it comes.

    Raises `SynthError` where the environment refuses the settings. Any other exception of
    `make_tasks`, of opening the environment or of its first reset becomes the only answer.
    """

    limits, spec = limits or AuditLimits(), world.spec
    rig = partial(ConformanceRig, world, settings, seed, limits=limits, given=bool(given))
    answers: list[AuditAnswer] = []
    made = given

    def told(answer: AuditAnswer) -> None:
        answers.append(answer)
        say(answer)

    try:
        made = given or await _tasks(world, settings, seed, max(tasks, 1), limits)
        await _begins(rig(made))
        for question in questions:
            told(await _answer(question, made, rig))
    except FailedError as error:
        told(_unasked(str(error), begun=bool(made)))

    known = (spec.name, spec.version, spec.licence, dict(settings))

    return Report(*known, seed, len(made), answers)


def _unasked(why: str, *, begun: bool) -> AuditAnswer:
    """The only answer about an environment that makes no task, or begins no episode."""

    what, name = ("no task to ask about", "make_tasks")
    if begun:
        what, name = ("nothing can be asked", "first_reset")
    finding = QuestionFinding(False, f"{what}: {why}", name)

    return AuditAnswer(
        QUESTIONS[0].name,
        QUESTIONS[0].asked,
        (finding,),
        (),
        0.0,
    )


async def _tasks(
    world: EnvEntry,
    settings: Mapping[str, Any],
    seed: int,
    count: int,
    limits: AuditLimits,
) -> Sequence[Task]:
    """The tasks. Raises `SynthError` of the environment, `FailedError` where there are none."""

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


async def _begins(rig: ConformanceRig) -> None:
    """Raises `FailedError` where no episode begins, or something is of the wrong type in one, and
    `SynthError` of the environment.

    What it raises in a step or a check is for the questions to find.
    """

    refused: list[SynthError] = []

    async def begun(bench: ConformanceRig) -> QuestionFinding:
        turn = AgentTurn(tool_calls=(ToolCall.received("first", "no_such_tool", "{}"),))
        limit_s = bench.limits.input_s

        try:
            env = bench.open()
            await Given(bench.tasks[0]).opened(env)
            with suppress(FailedError):
                await answered(env.check(), limit_s)
                await checked(env)

            with suppress(FailedError):
                response = await answered(env.step(turn), limit_s)
                await stepped(_at_once(response), 0, None)

            await env.close()
        except FaultError as fault:
            return QuestionFinding(False, fault.detail)
        except SynthError as error:
            refused.append(error)

        return QuestionFinding(True)

    found = await on_thread(begun, rig, "first_reset")
    for error in refused:
        raise error
    if found.passed is not True:
        raise FailedError(found.detail.removesuffix(", at: the start"))


async def _at_once(response: Response) -> Response:
    return response


async def _answer(
    question: AuditQuestion,
    tasks: Sequence[Task],
    rig: Callable[..., ConformanceRig],
) -> AuditAnswer:
    """Asks a question, each part of it with a rig and copies of the tasks of its own."""

    began = time.monotonic()
    tables: list[Table] = []
    findings = []
    for part in question.parts:
        bench = rig(list(map(copied, tasks)), tables=tables)
        findings.append(await on_thread(part, bench))

    took_s = time.monotonic() - began
    asked, headline = question.asked, question.headline

    return AuditAnswer(
        question.name,
        asked,
        tuple(findings),
        tuple(tables),
        took_s,
        headline,
    )
