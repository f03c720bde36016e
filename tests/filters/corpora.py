"""Corpora made by hand for filters of the scope `corpus`."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from synth.envs.echo import WORLD
from synth.schemas.filtering import Case, Cases, Filter, Verdict
from synth.schemas.task import Task
from synth.schemas.trajectory import Observation, Source, Trajectory, Turn
from tests.trajectories import make_trajectory


def chat(identity: str, *said: str, asked: str = "Please look.", **fields: Any) -> Trajectory:
    """A trajectory that says one text per turn; the identity is its id."""
    turns = tuple(
        Turn(at, text, observations=(Observation("ok", Source.USER),))
        for at, text in enumerate(said)
    )
    opening = (Observation(asked, Source.USER),)
    made = make_trajectory(
        identity, turns=0, **{"trajectory_id": identity, "opening": opening, **fields}
    )
    return msgspec.structs.replace(made, turns=turns)


def cases(trajectories: Sequence[Trajectory], tasks: Mapping[str, Task] | None = None) -> Cases:
    """Those trajectories, with their tasks by `task_id`."""
    found = [
        Case(t, (tasks or {}).get(t.task_id), lambda name, config: WORLD.open(config))
        for t in trajectories
    ]
    return Cases(lambda: iter(found), len(found))


def judged(filter: Filter, corpus: Cases, **settings: Any) -> dict[str, Verdict]:
    """The verdicts of a filter with some settings."""

    async def asked() -> dict[str, Verdict]:
        return dict(await filter.judge(corpus, filter.config(**settings)))

    return asyncio.run(asked())
