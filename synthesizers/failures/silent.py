"""The policy of nobody, for where only recorded turns are done again."""

from synth.engine.context import Role
from synth.schemas.environment import AgentTurn
from synth.schemas.policy import Act, Episode, Policy, PolicySpec, View
from synth.schemas.trajectory import Authorship


class _Silent:
    async def act(self, view: View) -> Act:
        """Nothing: the recorded turns are over."""
        return Act(turn=AgentTurn(""))


def _open_silent(episode: Episode) -> Policy:
    return _Silent()


SILENT = Role(
    PolicySpec(
        name="silent",
        authorship=Authorship.SCRIPTED,
        identity={"policy": "silent"},
        open=_open_silent,
        deterministic=True,
    ),
    None,
)
"""Who goes on where only recorded turns are done again: an episode that they do not end is ended by
the stuck rule.
"""
