"""Bots that understand nothing pass nothing: a task that they solve is no task. Beside them, the
rates of the environment's own expert with its misconceptions.
"""

from collections.abc import Sequence

from synth.envs.bots import BOTS, expert
from synth.envs.conformance.finding import (
    Choose,
    ConformanceRig,
    FailedError,
    NotTriedError,
    part,
    passes,
)
from synth.envs.transcript import MAX_TURNS, Transcript
from synth.schemas import Task

BOT_TURNS = 25
LARGEST_REFUSAL_SHARE = 0.2
TARGETS = {
    "do_nothing": "0 %",
    "random_affordance": "0 %",
    "refuse_all": "at most 20 %, and only tasks with a refusal",
    "expert": "100 %",
}


@part()
async def do_nothing_fails(bench: ConformanceRig) -> str:
    """Doing nothing passes nothing: the check is asked at once, and after finishing at once."""

    episodes = await _episodes(bench, "do_nothing")
    passed = [
        task
        for task, episode in zip(bench.tasks, episodes, strict=True)
        if (await bench.performed(task, ())).verdict.passed or episode.verdict.passed
    ]

    return _rate(passed, bench, allowed=0)


@part()
async def refuse_all_is_bounded(bench: ConformanceRig) -> str:
    """Refusing everything passes at most the tasks that have a refusal in their check, and at most
    a fifth of all.
    """

    refusals = [task for task in bench.tasks if task.check is not None and task.check.refusals]
    episodes = await _episodes(bench, "refuse_all")
    seen = [o for e in episodes for response in e.responses for o in response.observations]
    errors = [o.error for o in seen if o.name == "deny"]
    passed = _passed(bench, episodes)

    undeserved = ", ".join(task.task_id for task in passed if task not in refusals)
    if undeserved:
        raise FailedError(f"passes tasks that ask for no refusal: {undeserved}"[:400])
    if errors and all(errors):
        every = f"all {len(errors)} denials that the schema of `deny` admits"
        raise NotTriedError(f"not tried: {every} are answered by errors")

    allowed = min(len(refusals), max(1, int(LARGEST_REFUSAL_SHARE * len(bench.tasks))))
    accepted = f"{errors.count(False)} of {len(errors)} denials accepted"

    return _rate(passed, bench, allowed, f"; {accepted}, {len(refusals)} tasks with refusals")


@part("affordances")
async def random_affordance_fails(bench: ConformanceRig) -> str:
    """A random walk through what could be done passes nothing."""
    walked = await _episodes(bench, "random_affordance")
    return _rate(_passed(bench, walked), bench, allowed=0)


@part()
async def own_bots_fail(bench: ConformanceRig) -> str:
    """Bots that know the world, such as those that cheat, pass nothing: each is tried on one task
    after another, as many as there is time for.
    """

    bots = list(bench.world.bots)
    if not bots:
        raise NotTriedError("not tried: the world names no bots of its own")

    tried, passed = 0, list[tuple[str, ...]]()
    for again in range(len(bots)):
        for number, task in enumerate(bench.tasks):
            if bench.late:
                break
            name = bots[(again + number) % len(bots)]
            bench.note(f"{name} on task {task.task_id}")
            episode = await bench.played(task, bench.world.bots[name], max_turns=BOT_TURNS)
            tried += 1
            if episode.verdict.passed:
                passed.append((task.task_id[:12], name))

    first = bench.examples("Bots that pass", ("task", "bot"), passed, ": {1} passes task {0}")
    said = f"{len(passed)} of {tried} episodes of {len(bots)} bots pass{first}"

    return passes(not passed, said)


@part()
async def secrets_stay_hidden(bench: ConformanceRig) -> str:
    """No observation shows what a world calls secret, whoever plays."""

    if bench.world.secrets is None:
        raise NotTriedError("not tried: the world names no secrets")

    kept = {task.task_id: tuple(bench.world.secrets(task)) for task in bench.tasks}
    searched = 0
    every = {**bench.world.bots, **bench.players}
    for who in reversed(every):
        for task in bench.tasks:
            if bench.late or not kept[task.task_id]:
                continue
            bench.note(f"secrets of task {task.task_id} before {who}")
            episode = await bench.played(task, every[who], max_turns=BOT_TURNS)
            searched += 1
            shown = _shown(episode)
            told = next((text for text in kept[task.task_id] if text in shown), None)
            if told is not None:
                raise FailedError(f"task {task.task_id} shows {who} a secret: {told!r}"[:400])

    if not searched:
        raise NotTriedError("not tried: no task has a secret")

    return f"{sum(map(len, kept.values()))} secrets in none of {searched} episodes"


def _shown(episode: Transcript) -> str:
    """All that an agent was shown."""
    opening, responses = episode.opening, episode.responses
    seen = [*opening.observations, *(one for each in responses for one in each.observations)]
    return "\n".join([opening.system_prompt or "", *(one.content for one in seen)])


async def _episodes(bench: ConformanceRig, bot: str) -> list[Transcript]:
    """One episode of a bot for each task."""

    episodes = []
    for task in bench.tasks:
        bench.note(f"{bot} on task {task.task_id}")
        episodes.append(await bench.played(task, BOTS[bot], max_turns=BOT_TURNS))

    return episodes


def _passed(bench: ConformanceRig, episodes: Sequence[Transcript]) -> list[Task]:
    pairs = zip(bench.tasks, episodes, strict=True)
    return [task for task, episode in pairs if episode.verdict.passed]


def _rate(
    passed: Sequence[Task],
    bench: ConformanceRig,
    allowed: int,
    rest: str = "",
) -> str:
    """How many of all tasks passed, against how many may."""
    ids = ", ".join(task.task_id for task in passed)
    said = f"passes {len(passed)} of {len(bench.tasks)}, allowed {allowed}: {ids}"
    return passes(len(passed) <= allowed, said[:400].rstrip(": ") + rest)


@part()
async def pass_rates(bench: ConformanceRig) -> str:
    """Publishes the rates; the parts before this one hold the environment to the targets."""

    rows, rates = [], {}
    for name, (choose, turns) in _published(bench).items():
        verdicts = []
        for seed, task in enumerate(bench.tasks, bench.seed):
            if bench.late:
                break
            bench.note(f"{name} on task {task.task_id}")
            episode = await bench.played(task, choose, seed=seed, max_turns=turns)
            verdicts.append(episode.verdict.passed is True)

        passed, of = sum(verdicts), len(verdicts)
        rates[name] = f"{100 * passed / of:.0f} %" if of else "not played"
        rows.append((name, passed, of, rates[name], TARGETS.get(name, "published")))

    bench.table("Pass rates", ("policy", "passed", "of", "rate", "target"), rows)
    shown = ("do_nothing", "refuse_all", "random_affordance", "expert")

    return ", ".join(f"{name} {rates[name]}" for name in shown if name in rates)


def _published(bench: ConformanceRig) -> dict[str, tuple[Choose, int]]:
    """The policies whose rates are published, and the turns that each may take."""
    who = {name: (bot, BOT_TURNS) for name, bot in BOTS.items()}
    if not bench.claims("affordances"):
        del who["random_affordance"]
    if bench.claims("expert"):
        who["expert"] = (expert("correct"), MAX_TURNS)
        for profile in (*bench.world.spec.profiles, "mixed"):
            who[f"expert, {profile}"] = (expert(profile), MAX_TURNS)

    return who
