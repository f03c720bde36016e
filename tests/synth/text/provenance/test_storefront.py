"""The storefront's expert acts on what it saw; what is planted in its episodes is found."""

import asyncio
from random import Random

import msgspec
import pytest

from synth.envs.storefront import WORLD
from synth.envs.storefront.tools.schemas import READ_TOOLS, TALKS, WRITES
from synth.schemas.canonical import canonical_json
from synth.schemas.trajectory import ToolCall, Trajectory
from synth.text.provenance import Status, provenance
from synth.text.provenance.effect import effectful_by_name
from tests.envs.storefront.playing import expert_episode


def recorded(
    count: int, seed: int, profile: str | None = None, **settings: object
) -> list[Trajectory]:
    async def play() -> list[Trajectory]:
        found = []
        for at, task in enumerate(WORLD.make_tasks(settings, seed, count)):
            episode = await expert_episode(task, profile, at)
            opening = episode.opening
            found.append(
                msgspec.structs.replace(
                    episode.trajectory(None),
                    system_prompt=opening.system_prompt,
                    tools=opening.tools,
                )
            )
        return found

    return asyncio.run(play())


@pytest.mark.slow
def test_every_argument_of_the_expert_is_justified():
    reports = [provenance(trajectory) for trajectory in recorded(120, 31)]
    assert [finding for report in reports for finding in report.unjustified] == []
    assert sum(report.counts["observed"] for report in reports) > 200


@pytest.mark.slow
def test_the_experts_choices_are_nearly_all_singled_out():
    choices = [
        choice for trajectory in recorded(120, 31) for choice in provenance(trajectory).choices
    ]
    assert len(choices) > 150
    assert sum(choice.unjustified for choice in choices) <= 0.03 * len(choices)


def test_the_verbs_of_the_storefronts_tools_say_what_they_do():
    assert all(effectful_by_name(name) for name in WRITES)
    assert not any(effectful_by_name(tool["function"]["name"]) for tool in READ_TOOLS)
    assert {name for name in TALKS if effectful_by_name(name)} == {"deny"}


@pytest.mark.slow
def test_invented_identifiers_are_found_wherever_they_are_planted():
    rng = Random(4)
    missed = []
    planted = 0
    for trajectory in recorded(60, 32):
        for turn in trajectory.turns:
            for at, call in enumerate(turn.tool_calls):
                names = [
                    name for name in ("order_id", "address_id", "code") if name in call.parsed()
                ]
                if call.name not in WRITES or not names:
                    continue
                name, invented = rng.choice(names), f"O-{rng.randint(100_000, 999_999)}"
                changed = ToolCall.received(
                    call.call_id,
                    call.name,
                    canonical_json({**call.parsed(), name: invented}).decode(),
                )
                calls = (*turn.tool_calls[:at], changed, *turn.tool_calls[at + 1 :])
                turns = list(trajectory.turns)
                turns[turn.index] = msgspec.structs.replace(turn, tool_calls=calls)
                found = provenance(
                    msgspec.structs.replace(trajectory, turns=tuple(turns))
                ).unjustified
                planted += 1
                if not any(
                    (f.turn, f.call, f.path, f.value) == (turn.index, at, name, invented)
                    for f in found
                ):
                    missed.append((call.name, name, invented))
    assert planted > 60
    assert missed == []


@pytest.mark.slow
def test_a_first_match_guesser_chooses_without_grounds_more_often_than_the_expert():
    def share(profile: str | None) -> float:
        played = recorded(100, 33, profile, mix={"ambiguous": 3.0})
        choices = [
            choice
            for trajectory in played
            for choice in provenance(trajectory).choices
            if choice.path == "order_id"
        ]
        return sum(choice.unjustified for choice in choices) / len(choices)

    assert share("first_match") > 2 * share(None)


def test_no_report_names_a_status_that_is_not_one():
    counts = provenance(recorded(1, 34)[0]).counts
    assert set(counts) == {status.value for status in Status} | {"unjustified_choice"}
