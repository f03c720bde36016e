"""Tasks without limit: drawn from a seed, compiled to the customer's script and a gold check."""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from synth.envs.storefront.customer.script import ShopEvent
from synth.envs.storefront.self_play import played
from synth.envs.storefront.tasks.compiled import (
    ALWAYS_FREE,
    after,
    asked_of,
    opening_of,
    plain_script,
    required,
    script_of,
    settings_of_world,
    stated,
)
from synth.envs.storefront.tasks.difficulty import recorded
from synth.envs.storefront.tasks.intents import Draw, Subject
from synth.envs.storefront.tasks.scenarios import TaskPlace, draw_scenario, place
from synth.envs.storefront.world.config import DIALS, STEPS, StorefrontConfig, validated
from synth.envs.storefront.world.world import patched, world_of
from synth.schemas import Check, ConfigError, Origin, Task

HELD_OUT_SHARE = 0.5
"""Of the held-out tasks of two requests and more, so many have a held-out composition of kinds."""
WORLD_STRIDE = 1_000_003
MOST_TRIES = 240
"""Draws in one world before the next one is tried, which has what this one lacks."""
MOST_WORLDS = 40
NEXT_WORLD = 500_000_003


def make_tasks(
    settings: Mapping[str, Any],
    seed: int,
    count: int,
) -> Sequence[Task]:
    """`count` tasks; the same ones for the same settings and seed, and a longer list starts with
    the shorter one.

    With a `level`, each two neighbours (which may be a minimal pair) are drawn at one of the steps
    around it, so that the pass rate has no jumps; the mean step is the level. Raises `ConfigError`
    for settings that the storefront refuses, and for dials that no task can have together.
    """
    config = validated(settings)

    if config.level is None:
        return _made(config, seed, count)

    below = min(int(config.level * STEPS), STEPS - 1)
    share = config.level * STEPS - below

    easier, harder = (
        _made(
            validated({**settings, "level": step / STEPS}),
            seed,
            count,
        )
        for step in (below, below + 1)
    )

    # both of a minimal pair are drawn at one step
    blocks = range((count + 1) // 2)
    draws = [Random(f"storefront/level/{seed}/{block}").random() for block in blocks]

    return tuple((harder if draws[at // 2] < share else easier)[at] for at in range(count))


def _made(
    config: StorefrontConfig,
    seed: int,
    count: int,
) -> Sequence[Task]:
    """Tasks of one config, each only once."""
    made: dict[str, Task] = {}

    while len(made) < count:
        # a draw that was made before is the same task, and is left out by its id
        made.update(
            (task.task_id, task)
            for task in _drawn(
                config,
                seed,
                len(made),
                made,
            )
        )

    return tuple(made.values())[:count]


def _drawn(
    config: StorefrontConfig, seed: int, index: int, made: Mapping[str, Task]
) -> Sequence[Task]:
    """The task at an index, or both of the pair that begins there; where tasks are easy, draws that
    are among those `made` are left out.
    """
    # the second of a pair stands at the next index
    at = place(config.mix, seed, index)
    places = [at] if at.pair is None else [at, place(config.mix, seed, index + 1)]
    # worlds change every few tasks, never between two of a pair
    drawn = seed * WORLD_STRIDE + (index - index % 2) // config.tasks_per_world
    first = drawn if config.world_seed is None else config.world_seed
    # of one seed every task has a stream of its own: a longer list begins with the shorter one
    draw_of = f"storefront/task/{seed}/{index if at.pair is None else f'pair/{at.pair}'}"
    operations = _count(config, Random(draw_of))
    composed = operations > 1 and Random(f"{draw_of}/composed").random() < HELD_OUT_SHARE

    for attempt in range(MOST_TRIES * (MOST_WORLDS if config.world_seed is None else 1)):
        base = world_of(config, first + attempt // MOST_TRIES * NEXT_WORLD)
        # the second half of the tries takes customers with fewer orders than requests, too
        strict = attempt % MOST_TRIES < MOST_TRIES // 2
        held_out = strict and composed
        tasks: dict[str, Task] = {}

        for side in places:
            # both sides draw from equal streams
            rng = Random(f"{draw_of}/{attempt}")
            draw = Draw(rng, config, base, 1, rng.choice(sorted(base.orders_of)))
            scenario = draw_scenario(draw, side, operations, strict=strict, held_out=held_out)
            noise = None if scenario is None else _noise(draw, side, scenario)

            if scenario is None or noise is None:
                break

            task = _compiled(draw, side, scenario, noise, seed)
            tasks[task.task_id] = task

        if len(tasks) == len(places) and not tasks.keys() & made.keys():
            return tuple(tasks.values())

    raise _no_such_task(config, at.kind, operations)


def _no_such_task(config: StorefrontConfig, kind: str, operations: int) -> ConfigError:
    """What to do where no draw makes a task of these dials."""
    where = "any world" if config.world_seed is None else f"the world of seed {config.world_seed}"

    return ConfigError(
        f"env: no task of kind {kind} with {operations} operations, look_ups "
        f"{config.look_ups}, ambiguity {config.ambiguity} and "
        f"stale_events {config.stale_events} in {where}: widen look_ups, ambiguity or operations, "
        f"or take {kind} out of mix"
    )


def _count(config: StorefrontConfig, rng: Random) -> int:
    """Draws how many requests a task has."""
    counts = range(config.operations[0], config.operations[1] + 1)

    return rng.choices(counts, [DIALS["counts"][n] for n in counts])[0]


def _noise(
    draw: Draw,
    at: TaskPlace,
    scenario: Subject,
) -> list[ShopEvent] | None:
    """Events about orders of others, beside the ones that concern the customer; None where there
    are too few such orders.
    """
    rng = draw.rng
    low, high = draw.config.stale_events
    # the subject's own event counts among those that were asked for
    own = sum(len(intent.events) for intent in scenario.sides)
    count = rng.randint(max(low, own), max(high, own)) - own if at.kind == "stale" else 0

    others = [
        key
        for key, order in sorted(draw.base.tables["orders"].items())
        if order["status"] == "processing" and order["customer_id"] != draw.customer_id
    ]

    if len(others) < count:
        return None

    return [
        ShopEvent(
            rng.randrange(2, 9),
            "orders",
            key,
            {"status": "shipped"},
        )
        for key in rng.sample(others, count)
    ]


def _compiled(
    draw: Draw, at: TaskPlace, scenario: Subject, noise: Sequence[ShopEvent], seed: int
) -> Task:
    """The task of a scenario: what the customer says and knows, and the check.

    What the check requires is what the right calls and the shop's events make of the start.
    """
    config = draw.config
    intents = stated(draw, scenario.sides)
    script = script_of(draw, intents, scenario.known, noise)
    asked = asked_of(draw, intents)
    asked["free"] = ALWAYS_FREE + asked["free"]
    # the check is what the right calls make of the task's own start
    start = patched(draw.base, tuple(sorted(scenario.facts.items())))
    end = after(start, [call for intent in intents for call in intent.calls], script.events)
    pair = None if at.pair is None else f"pair-{at.pair}"
    named = {"kind": at.kind, "pair": pair}
    difficulty = recorded(draw, named, intents, script, scenario.facts)

    parts = {
        "env": "storefront",
        "env_config": settings_of_world(config, draw.base.seed, scenario.facts),
        "seed": seed,
        "goal": opening_of(script),
        "origin": Origin.TEMPLATE,
        "check": Check(required=tuple(required(end, asked["free"])), **asked),
        "split": config.variant,
    }

    task = Task.identified(**parts, script=plain_script(script), difficulty=difficulty)

    if config.budget_slack is None:
        return task

    # the check does not depend on it: all but script and difficulty stays
    budget = _budget(task, config.budget_slack)
    script_within = {**task.script, "patience": budget["budget_turns"]}

    return Task.identified(**parts, script=script_within, difficulty={**difficulty, **budget})


def _budget(task: Task, slack: float) -> dict[str, float]:
    """After how many turns the customer leaves: `slack` times as many as the expert takes."""
    expert, _ = played(task)
    # rounded up, in hundredths: 1.1 times ten turns are eleven, not twelve
    turns = -(-int(expert * slack * 100) // 100)

    return {"budget_slack": slack, "budget_turns": turns, "expert_turns": expert}
