"""verl's agent loop (verl 0.9) over rows of an `rl` export (form verl): the tools of the row's
world, whole turns, its own check as reward.

verl makes one loop per rollout, so each holds one episode. `synth_agent_loop.yaml` beside the rows
names it to verl.
"""

import logging
from typing import Any

from verl.experimental.agent_loop.agent_loop import AgentLoopOutput
from verl.experimental.agent_loop.tool_agent_loop import AgentData, AgentState, ToolAgentLoop
from verl.tools.schemas import ToolResponse

from synth.boundary import FaultError
from synth.models.reply_health import FINISH_REASONS
from synth.rl.episode import SAFE, UNDEFINED, RlEpisode, answers, opener, task_of
from synth.rollout.limits import Limits
from synth.schemas import AgentTurn, ConfigError, Fault, SynthError, ToolCall

TRIES = 3
"""Episodes that may be played in one place of a group, where faults end the others."""
_LOG = logging.getLogger(__name__)
_COMPLETED = frozenset({None, "completed", *FINISH_REASONS})
"""How verl's own client says that a turn was written to its end."""


class WorldAgentLoop(ToolAgentLoop):  # type: ignore[misc]
    """Plays a row's task. `worlds` says how environments are started (`synth.rl.episode`): it
    stands in the trainer's configuration, and no row can change it; `limits` are those of a
    rollout.

    The schemas are shown as they are, and answers are not cut: verl's own would lose nested
    parameters, and what follows 256 characters. A fault is no reward: where the world breaks, or
    verl's server leaves a turn unfinished, the task is played anew, `tries` times in all. Then the
    loop raises. verl's trainer (`trainer.use_v1`, its default) then leaves this rollout out of its
    group and its batch; its older trainer ends the step with the error.
    """

    def __init__(
        self,
        *args: Any,
        server_manager: Any,
        worlds: str = SAFE,
        limits: dict[str, Any] | None = None,
        tries: int = TRIES,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, server_manager=_Watched(server_manager), **kwargs)
        self._episode = RlEpisode(opener(worlds), Limits(**(limits or {})))
        self._tries = tries
        self._answers: dict[str, str] = {}

    async def run(self, sampling_params: dict[str, Any], **row: Any) -> AgentLoopOutput:
        """One episode; the reward is 1 for a success, else 0. Raises `ConfigError` for a row that
        holds no task, and `FaultError` where every try ended by a fault.
        """
        self.tools: dict[str, Any] = {}

        for number in range(1, self._tries + 1):
            try:
                return await self._played(sampling_params, row)
            except FaultError as fault:
                if number >= self._tries:
                    why = (
                        f"{fault.detail}; gave up after {number} episodes, and this rollout "
                        "has no reward"
                    )

                    raise FaultError(fault.fault, why) from fault

                _LOG.warning("%s; the episode is played anew", fault)
            finally:
                await self._episode.close()

        raise ConfigError(f"tries: {self._tries} is no number of episodes; name at least 1")

    async def _played(
        self, sampling_params: dict[str, Any], row: dict[str, Any]
    ) -> AgentLoopOutput:
        opening = await self._episode.reset(task_of(row))
        self.tool_schemas = [dict(tool) for tool in opening.tools]
        output = await super().run(sampling_params, **row)
        outcome = await self._episode.outcome()
        output.reward_score = await self._episode.reward()
        if output.reward_score is None:
            raise SynthError(UNDEFINED)
        output.extra_fields.update(outcome=outcome.value)

        return output

    async def _handle_processing_tools_state(self, agent_data: AgentData) -> AgentState:
        """All calls of a turn at once, as in a rollout; what the user says to it stands behind the
        last answer.
        """
        calls = agent_data.tool_calls[: self.max_parallel_calls]
        for at, call in enumerate(calls):
            call.tool_call_id = f"call_{agent_data.assistant_turns}_{at}"

        said = self._spoken(agent_data.messages[-1]["content"])
        turn = AgentTurn(
            said,
            tuple(
                ToolCall.received(call.tool_call_id, call.name, call.arguments) for call in calls
            ),
        )

        response = await self._episode.step(turn)
        self._answers = {
            message["tool_call_id"]: message["content"]
            for message in answers(response)
            if message["role"] == "tool"
        }

        state = await super()._handle_processing_tools_state(agent_data)

        return AgentState.TERMINATED if self._episode.done else state

    async def _call_tool(
        self, tool_call: Any, tools_kwargs: Any, agent_data: AgentData
    ) -> tuple[ToolResponse, float, dict[str, Any]]:
        return ToolResponse(text=self._answers.get(tool_call.tool_call_id, "")), 0.0, {}

    def _spoken(self, written: str) -> str | None:
        """What was said beside the calls, without the tokens that end a turn."""
        for token in self.tokenizer.all_special_tokens:
            written = written.replace(token, "")
        return written.strip() or None


class _Watched:
    """verl's client of its server. Raises `FaultError` (model) where a turn was not written to its
    end.
    """

    def __init__(self, server: Any) -> None:
        self._server = server

    async def generate(self, *args: Any, **kwargs: Any) -> Any:
        """The tokens of one turn."""
        output = await self._server.generate(*args, **kwargs)
        if output.stop_reason not in _COMPLETED:
            raise FaultError(Fault.MODEL, f"verl's server ended a turn by {output.stop_reason!r}")
        return output

    def __getattr__(self, name: str) -> Any:
        return getattr(self._server, name)
