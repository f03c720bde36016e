"""What agents that understand nothing may pass: a task that they solve is no task."""

from collections.abc import Sequence

from synth.envs.bots import BOTS
from synth.envs.conformance.finding import Bench, Finding
from synth.envs.transcript import Transcript, play
from synth.schemas.task import Task

BOT_TURNS = 25
LARGEST_REFUSAL_SHARE = 0.2


async def do_nothing_fails(bench: Bench) -> Finding:
    """Nothing done passes nothing: asked at once, and after finishing at once."""
    name = "do_nothing_fails"
    passed = await _passed(bench, "do_nothing")
    for task in bench.tasks:
        env = bench.open()
        await env.reset(task)
        if (await env.check()).passed and task not in passed:
            passed.append(task)
        await env.close()
    return _rate(name, passed, bench, allowed=0)


async def refuse_all_is_bounded(bench: Bench) -> Finding:
    """Refusing everything passes at most the tasks that have a refusal in their check, and at most
    a fifth of all.
    """
    name = "refuse_all_is_bounded"
    refusals = [task for task in bench.tasks if task.check is not None and task.check.refusals]
    passed, accepted, denials = [], 0, 0
    for task in bench.tasks:
        transcript = await _episode(bench, "refuse_all", task)
        answers = [
            o
            for response in transcript.responses
            for o in response.observations
            if o.name == "deny"
        ]
        accepted, denials = accepted + sum(not o.error for o in answers), denials + len(answers)
        if transcript.verdict.passed:
            passed.append(task)
    undeserved = [task.task_id for task in passed if task not in refusals]
    if undeserved:
        return Finding(
            name, False, f"passes tasks that ask for no refusal: {', '.join(undeserved)}"[:400]
        )
    if denials and not accepted:
        return Finding(
            name,
            None,
            f"not tried: all {denials} denials that the schema of `deny` admits are answered by "
            "errors",
        )
    allowed = min(len(refusals), max(1, int(LARGEST_REFUSAL_SHARE * len(bench.tasks))))
    rate = _rate(name, passed, bench, allowed=allowed)
    return Finding(
        name,
        rate.passed,
        f"{rate.detail}; {accepted} of {denials} denials accepted, {len(refusals)} tasks with "
        "refusals",
    )


async def random_affordance_fails(bench: Bench) -> Finding:
    """A random walk through what could be done passes nothing."""
    name = "random_affordance_fails"
    if not bench.claims("affordances"):
        return Finding(name, None, "the world does not claim affordances")
    return _rate(name, await _passed(bench, "random_affordance"), bench, allowed=0)


async def _passed(bench: Bench, bot: str) -> list[Task]:
    """The tasks that a bot passes."""
    return [task for task in bench.tasks if (await _episode(bench, bot, task)).verdict.passed]


async def _episode(bench: Bench, bot: str, task: Task) -> Transcript:
    """One episode of a bot."""
    bench.note(f"{bot} on task {task.task_id}")
    env = bench.open()
    transcript = await play(env, task, BOTS[bot], seed=bench.seed, max_turns=BOT_TURNS)
    await env.close()
    return transcript


def _rate(name: str, passed: Sequence[Task], bench: Bench, *, allowed: int) -> Finding:
    """Passed of all tasks, against how many may be."""
    ids = ", ".join(task.task_id for task in passed)
    return Finding(
        name,
        len(passed) <= allowed,
        f"passes {len(passed)} of {len(bench.tasks)}, allowed {allowed}: {ids}"[:400].rstrip(": "),
    )
