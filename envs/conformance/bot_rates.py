"""What agents that understand nothing may pass: a task that they solve is no task. Beside them, the
world's own expert with its misconceptions.
"""

from collections.abc import Sequence

from synth.envs.bots import BOTS
from synth.envs.conformance.experts import expert
from synth.envs.conformance.finding import ConformanceRig, Finding, part
from synth.envs.transcript import MAX_TURNS, Transcript
from synth.schemas.task import Task

BOT_TURNS = 25
LARGEST_REFUSAL_SHARE = 0.2
TARGETS = {
    "do_nothing": "0 %",
    "random_affordance": "0 %",
    "refuse_all": "at most 20 %, and only tasks with a refusal",
}


@part()
async def do_nothing_fails(bench: ConformanceRig) -> Finding:
    """Nothing done passes nothing: asked at once, and after finishing at once."""
    passed = await _passed(bench, "do_nothing")
    for task in bench.tasks:
        env = bench.open()
        await env.reset(task)
        if (await env.check()).passed and task not in passed:
            passed.append(task)
        await env.close()
    return _rate(passed, bench, allowed=0)


@part()
async def refuse_all_is_bounded(bench: ConformanceRig) -> Finding:
    """Refusing everything passes at most the tasks that have a refusal in their check, and at most
    a fifth of all.
    """
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
            False, f"passes tasks that ask for no refusal: {', '.join(undeserved)}"[:400]
        )
    if denials and not accepted:
        return Finding(
            None,
            f"not tried: all {denials} denials that the schema of `deny` admits are answered by "
            "errors",
        )
    allowed = min(len(refusals), max(1, int(LARGEST_REFUSAL_SHARE * len(bench.tasks))))
    rate = _rate(passed, bench, allowed=allowed)
    return Finding(
        rate.passed,
        f"{rate.detail}; {accepted} of {denials} denials accepted, {len(refusals)} tasks with "
        "refusals",
    )


@part("affordances")
async def random_affordance_fails(bench: ConformanceRig) -> Finding:
    """A random walk through what could be done passes nothing."""
    return _rate(await _passed(bench, "random_affordance"), bench, allowed=0)


async def _passed(bench: ConformanceRig, bot: str) -> list[Task]:
    """The tasks that a bot passes."""
    return [task for task in bench.tasks if (await _episode(bench, bot, task)).verdict.passed]


async def _episode(bench: ConformanceRig, bot: str, task: Task) -> Transcript:
    """One episode of a bot."""
    bench.note(f"{bot} on task {task.task_id}")
    return await bench.played(task, BOTS[bot], max_turns=BOT_TURNS)


def _rate(passed: Sequence[Task], bench: ConformanceRig, *, allowed: int) -> Finding:
    """Passed of all tasks, against how many may be."""
    ids = ", ".join(task.task_id for task in passed)
    return Finding(
        len(passed) <= allowed,
        f"passes {len(passed)} of {len(bench.tasks)}, allowed {allowed}: {ids}"[:400].rstrip(": "),
    )


@part()
async def pass_rates(bench: ConformanceRig) -> Finding:
    """Publishes the rates; the targets are held by the parts before this one."""
    deadline = bench.deadline()
    who = {name: (bot, BOT_TURNS, TARGETS.get(name, "published")) for name, bot in BOTS.items()}
    if not bench.claims("affordances"):
        del who["random_affordance"]
    if bench.claims("expert"):
        who["expert"] = (expert("correct"), MAX_TURNS, "100 %")
        for profile in (*bench.world.spec.profiles, "mixed"):
            who[f"expert, {profile}"] = (expert(profile), MAX_TURNS, "published")
    rows, rates = [], {}
    for name, (choose, turns, target) in who.items():
        passed = played = 0
        for index, task in enumerate(bench.tasks):
            if deadline.over:
                break
            bench.note(f"{name} on task {task.task_id}")
            seed = bench.seed + index
            episode = await bench.played(task, choose, seed=seed, max_turns=turns)
            passed += episode.verdict.passed
            played += 1
        rates[name] = f"{100 * passed / played:.0f} %" if played else "not played"
        rows.append((name, passed, played, rates[name], target))
    bench.table("Pass rates", ("policy", "passed", "of", "rate", "target"), rows)
    shown = [
        f"{name} {rates[name]}"
        for name in ("do_nothing", "refuse_all", "random_affordance", "expert")
        if name in rates
    ]
    return Finding(True, ", ".join(shown))
