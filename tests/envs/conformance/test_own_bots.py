"""What the audit asks of a world's own bots and secrets."""

import asyncio
from dataclasses import replace
from typing import Any

from synth.envs.bots import BOTS, expert
from synth.envs.conformance import bot_rates
from synth.envs.conformance.finding import ConformanceRig, Part, QuestionFinding
from synth.envs.echo import WORLD
from synth.envs.world import EnvEntry


def asked(part: Part, world: EnvEntry) -> QuestionFinding:
    tasks = world.make_tasks({}, 7, 3)
    return asyncio.run(part(ConformanceRig(world, {}, 7, tasks)))


def with_bots(**bots: Any) -> EnvEntry:
    return replace(WORLD, bots=bots)


def test_a_world_without_bots_and_secrets_is_not_asked() -> None:
    for part in (bot_rates.own_bots_fail, bot_rates.secrets_stay_hidden):
        assert asked(part, WORLD).passed is None


def test_each_bot_is_tried_on_each_task() -> None:
    found = asked(
        bot_rates.own_bots_fail, with_bots(lazy=BOTS["do_nothing"], no=BOTS["refuse_all"])
    )
    assert (found.passed, found.detail) == (True, "0 of 6 episodes of 2 bots pass")


def test_a_bot_that_passes_is_named() -> None:
    found = asked(bot_rates.own_bots_fail, with_bots(able=expert()))
    assert found.passed is False
    assert "able passes task" in found.detail


def test_a_secret_that_is_shown_is_found() -> None:
    told = replace(WORLD, secrets=lambda task: (task.goal,))
    kept = replace(WORLD, secrets=lambda task: ("a word that nobody says",))
    assert asked(bot_rates.secrets_stay_hidden, told).passed is False
    assert asked(bot_rates.secrets_stay_hidden, kept).passed is True
