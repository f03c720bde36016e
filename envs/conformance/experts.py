"""The world's own expert, as a policy on the bench."""

from collections.abc import Callable

from synth.envs.bots import do_nothing, random_affordance
from synth.schemas.environment import EnvSpec
from synth.schemas.policy import Act, Episode, Policy, View


class Expert:
    """Does what the world's planner says; one profile and one seed for the whole episode."""

    def __init__(self, episode: Episode, profile: str | None) -> None:
        self._episode = episode
        self._profile = profile

    async def act(self, view: View) -> Act:
        """The planner's next turn."""
        return Act(turn=await self._episode.env.expert(self._profile, self._episode.seed))


def expert(profile: str | None = None) -> Callable[[Episode], Policy]:
    """Opens an expert of a profile."""
    return lambda episode: Expert(episode, profile)


def players(spec: EnvSpec) -> dict[str, Callable[[Episode], Policy]]:
    """The policies that can walk through a world, the most telling first."""
    able: dict[str, Callable[[Episode], Policy]] = {}
    if "expert" in spec.capabilities:
        able["expert"] = expert()
    if "affordances" in spec.capabilities:
        able["random_affordance"] = random_affordance
    return able or {"do_nothing": do_nothing}
