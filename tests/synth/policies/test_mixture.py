"""A mixture of policies: drawn per turn by weight, honest about authorship."""

import asyncio
from collections import Counter

import pytest

from synth.envs.echo import open_echo
from synth.policies.mixture import mixture_policy
from synth.schemas.environment import AgentTurn
from synth.schemas.errors import ConfigError
from synth.schemas.policy import Act, Episode, PolicySpec, View
from synth.schemas.trajectory import Authorship, Turn
from tests.synth.policies.test_scripted_policies import TASKS, play, said

YES, NO = f"{__name__}:says_yes", f"{__name__}:says_no"


def says(word):
    """A policy module's entry that always says one word."""

    def make(settings, *, model_name, sampling):
        class Says:
            async def act(self, view):
                return Act(turn=AgentTurn(word))

        return PolicySpec(
            name=word,
            authorship=Authorship.MODEL,
            identity={"policy": word},
            open=lambda e: Says(),
            model=model_name,
            sampling=sampling,
        )

    return make


says_yes = says("yes")


says_no = says("no")


def mixture(*shares, model_name=None, sampling=None):
    return mixture_policy({"of": list(shares)}, model_name=model_name, sampling=sampling or {})


def spoken(spec, count, trial=0):
    async def act():
        env = open_echo({})
        opening = await env.reset(TASKS[0])
        mixed = spec.open(Episode(env, None, trial, 0))
        return [
            (await mixed.act(View(opening, tuple(map(Turn, range(index)))))).turn.content
            for index in range(count)
        ]

    return asyncio.run(act())


def test_a_mixture_draws_per_turn_by_weight():
    words = Counter(spoken(mixture({"policy": YES, "weight": 3}, {"policy": NO, "weight": 1}), 400))
    assert abs(words["yes"] - 300) < 4 * (400 * 0.75 * 0.25) ** 0.5
    assert words["no"] > 0


def test_a_mixture_draws_the_same_again_and_otherwise_in_another_trial():
    spec = mixture({"policy": YES}, {"policy": NO})
    assert spoken(spec, 30) == spoken(spec, 30) != spoken(spec, 30, trial=1)


def test_a_mixture_is_authored_by_what_all_its_parts_are_else_mixed():
    scripted = mixture(
        {"policy": "expert", "profiles": "mixed"}, {"policy": "random", "weight": 0.2}
    )
    assert scripted.authorship is Authorship.SCRIPTED
    assert mixture({"policy": YES}, {"policy": NO}).authorship is Authorship.MODEL
    both = mixture(
        {"policy": "expert"}, {"policy": YES}, model_name="m", sampling={"temperature": 1.0}
    )
    assert (both.authorship, both.model, both.sampling) == (
        Authorship.MIXED,
        "m",
        {"temperature": 1.0},
    )


def test_weights_and_settings_of_the_parts_are_part_of_the_identity():
    identities = [
        mixture({"policy": "expert"}, {"policy": "random"}).identity,
        mixture({"policy": "expert", "profiles": "mixed"}, {"policy": "random"}).identity,
        mixture({"policy": "expert"}, {"policy": "random", "weight": 2}).identity,
    ]
    assert len({str(identity) for identity in identities}) == 3
    assert identities[1] == {
        "policy": "mixture",
        "of": [
            {"weight": 1.0, "policy": {"policy": "expert", "profiles": "mixed"}},
            {"weight": 1.0, "policy": {"policy": "random"}},
        ],
    }


def test_a_scripted_mixture_plays_a_whole_episode():
    spec = mixture({"policy": "expert", "weight": 4}, {"policy": "random"})
    assert said(play(spec, trial=2)) == said(play(spec, trial=2))


@pytest.mark.parametrize(
    ("shares", "message"),
    [
        (
            ({"policy": "expert"}, {"policy": "oracle"}),
            r"of\[1\].policy 'oracle' is not known; known: chat, expert, mixture, random",
        ),
        (
            ({"policy": "expert", "profile": "x"}, {"policy": "random"}),
            r"of\[0\].profile is not a setting",
        ),
        (
            ({"policy": "expert"}, {"policy": "no.such.module:policy"}),
            r"of\[1\].policy .*: cannot import no\.such\.module",
        ),
    ],
)
def test_what_is_wrong_with_a_part_is_said_with_its_place(shares, message):
    with pytest.raises(ConfigError, match=message):
        mixture(*shares)
