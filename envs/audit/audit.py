"""Asks a world every question, each part on its own thread and with its own limit of time."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from synth.boundary import FaultError
from synth.envs.audit.questions import QUESTIONS, AuditQuestion
from synth.envs.audit.report import AuditAnswer, Limits, Report
from synth.envs.conformance.finding import ConformanceRig, Finding, Table
from synth.envs.conformance.guard import Broke, answered, on_thread
from synth.envs.conformance.guard import GuardedAnswer as Answered
from synth.envs.conformance.suite import CHECKS
from synth.envs.world import EnvEntry
from synth.rollout.answers import checked, stepped
from synth.rollout.given import Given, copied
from synth.schemas.environment import AgentTurn, Response
from synth.schemas.errors import SynthError
from synth.schemas.task import Task
from synth.schemas.trajectory import ToolCall


async def audit(
    world: EnvEntry,
    settings: Mapping[str, Any],
    *,
    seed: int,
    tasks: int,
    limits: Limits | None = None,
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
    limits = limits or Limits()
    made = given or await _tasks(world, settings, seed, max(tasks, 1), limits)
    if isinstance(made, Broke):
        finding = Finding(False, f"no task to ask about: {made.reason}", "make_tasks")
        say(broken := AuditAnswer(QUESTIONS[0].name, QUESTIONS[0].asked, (finding,), (), 0.0))
        return _report(world, settings, seed, 0, [broken])
    if isinstance(begun := await _begun(world, settings, made[0], limits), Broke):
        finding = Finding(False, f"nothing can be asked: {begun.reason}", "first_reset")
        say(broken := AuditAnswer(QUESTIONS[0].name, QUESTIONS[0].asked, (finding,), (), 0.0))
        return _report(world, settings, seed, len(made), [broken])
    answers = []
    for question in questions:
        answers.append(
            await _answer(question, world, settings, seed, made, limits, derived=bool(given))
        )
        say(answers[-1])
    return _report(world, settings, seed, len(made), answers)


def _report(
    world: EnvEntry,
    settings: Mapping[str, Any],
    seed: int,
    tasks: int,
    answers: Sequence[AuditAnswer],
) -> Report:
    return Report(
        world.spec.name,
        world.spec.version,
        world.spec.licence,
        dict(settings),
        seed,
        tasks,
        tuple(answers),
    )


async def _tasks(
    world: EnvEntry, settings: Mapping[str, Any], seed: int, count: int, limits: Limits
) -> Sequence[Task] | Broke:
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
    elsewhere = (
        "; a run of `reverse_task` derives some, `synth audit --from RUN` asks about them"
        if world.write_goal
        else ""
    )
    return Broke(f"make_tasks made none{elsewhere}")


async def _begun(
    world: EnvEntry, settings: Mapping[str, Any], task: Task, limits: Limits
) -> Broke | None:
    """Why no episode begins, or what is of the wrong type in one; None where all is well. Raises
    `SynthError` of the world.

    What it raises in a step or a check is for the questions to find.
    """

    async def begun() -> SynthError | FaultError | None:
        turn = AgentTurn(tool_calls=(ToolCall.received("first", "no_such_tool", "{}"),))
        try:
            env = world.open(settings)
            await Given(task).opened(env)
            if isinstance(await answered(env.check(), limits.input_s), Answered):
                await checked(env)
            if isinstance(response := await answered(env.step(turn), limits.input_s), Answered):
                await stepped(_at_once(response.given), 0, None)
            await env.close()
        except (SynthError, FaultError) as error:
            return error
        return None

    found: list[Answered[SynthError | FaultError | None] | Broke] = []

    async def asked(bench: ConformanceRig) -> Finding:
        found.append(await answered(begun(), limits.part_s))
        return Finding(True)

    outcome = await on_thread(
        "first_reset",
        asked,
        ConformanceRig(world, settings, 0, [task], limits.input_s),
        limits.part_s,
    )
    match found:
        case [Answered(SynthError() as error)]:
            raise error
        case [Answered(FaultError() as fault)]:
            return Broke(fault.detail)
        case [Broke() as broke]:
            return broke
        case []:
            return Broke(outcome.detail)
    return None


async def _at_once(response: Response) -> Response:
    return response


async def _answer(
    question: AuditQuestion,
    world: EnvEntry,
    settings: Mapping[str, Any],
    seed: int,
    tasks: Sequence[Task],
    limits: Limits,
    *,
    derived: bool,
) -> AuditAnswer:
    began = time.monotonic()
    tables: list[Table] = []
    parts = (*(CHECKS[name] for name in question.checks), *question.measured)
    findings = []
    for part in parts:
        bench = ConformanceRig(
            world,
            settings,
            seed,
            list(map(copied, tasks)),
            limits.input_s,
            limits,
            given=derived,
            tables=tables,
        )
        findings.append(await on_thread(part.__name__, part, bench, limits.part_s))
    return AuditAnswer(
        question.name,
        question.asked,
        tuple(findings),
        tuple(tables),
        time.monotonic() - began,
        question.headline,
    )
