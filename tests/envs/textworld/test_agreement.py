"""Interpreter and logic are two accounts of one game; where they differ the world raises, and here
it never does.
"""

from random import Random

import pytest

pytest.importorskip(
    "synth.envs.textworld",
    reason="the extra is missing: pip install -c constraints.txt -e '.[textworld]'",
    exc_type=ImportError,
)

from synth.envs.textworld.commands import DIRECTIONS, TOOLS
from tests.envs.textworld.installed import calls, played, tasks

PARAMETERS = {
    tool["function"]["name"]: tool["function"]["parameters"]["required"] for tool in TOOLS
}


SLOW = [
    pytest.param(settings, marks=pytest.mark.slow)
    for settings in ({"objects": 14, "quests": 2}, {"quest_breadth": 2})
]


@pytest.mark.slow
@pytest.mark.parametrize("settings", [{}, *SLOW], ids=str)
@pytest.mark.nightly
def test_any_command_with_any_names_is_possible_for_both_or_for_neither(
    settings: dict[str, int],
) -> None:
    for task in tasks(2, **settings):

        async def roam(env, draw=Random(task.task_id)):  # noqa: B008
            names = sorted(
                {
                    path.split("/")[1]
                    for path in await env.facts()
                    if path.startswith(("thing/", "door/"))
                }
            )
            done = 0
            while done < 150:
                if draw.random() < 0.5:
                    turn = draw.choice(list(await env.affordances()))
                else:
                    tool = draw.choice(sorted(PARAMETERS))
                    given = {
                        name: draw.choice(DIRECTIONS if name == "direction" else names)
                        for name in PARAMETERS[tool]
                    }
                    turn = calls((tool, given))
                response = await env.step(turn)
                assert not [o for o in response.observations if "Which do you mean" in o.content]
                done += 1
                if response.done:
                    return done
            return done

        assert played(task, roam) > 10
