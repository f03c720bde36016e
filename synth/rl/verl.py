"""verl's agent loop (verl 0.9) over rows of an `rl` export (form verl): the tools of the row's world, whole turns, its own check as reward.

verl makes one loop per rollout, so each holds one episode. `synth_agent_loop.yaml` beside the rows names it to verl.
"""

from typing import Any

from verl.experimental.agent_loop.agent_loop import AgentLoopOutput
from verl.experimental.agent_loop.tool_agent_loop import AgentData, AgentState, ToolAgentLoop
from verl.tools.schemas import ToolResponse

from schemas.environment import AgentTurn
from schemas.messages import observation_message
from schemas.trajectory import ToolCall
from synth.boundary import FaultError, imported
from synth.exporters.unroll import joined_answers
from synth.rl.episode import Episode, task_of
from synth.rollout.limits import Limits


class WorldAgentLoop(ToolAgentLoop):  # type: ignore[misc]
    """Plays a row's task. `worlds` opens a world by name and settings; `limits` are those of a rollout.

    The schemas are shown as they are, and answers are not cut: verl's own would lose nested parameters, and what follows 256 characters.
    Where the world breaks, no token of the rollout carries loss, and `outcome` says `invalid`; verl still counts its reward, 0, in the
    mean of its group, for which it has no other place.
    """

    def __init__(self, *args: Any, worlds: str = "flows.parts:open_env", limits: dict[str, Any] | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._episode = Episode(imported("worlds", worlds), Limits(**(limits or {})))
        self._answers: dict[str, str] = {}
        self._fault: FaultError | None = None

    async def run(self, sampling_params: dict[str, Any], **row: Any) -> AgentLoopOutput:
        """One episode; the reward is 1 for a success, else 0. Raises `ConfigError` for a row that holds no task."""
        self.tools: dict[str, Any] = {}
        try:
            opening = await self._episode.reset(task_of(row))
            self.tool_schemas = [dict(tool) for tool in opening.tools]
        except FaultError as fault:
            self._fault = fault
        try:
            output = await super().run(sampling_params, **row)
            await self._settle(output)
        finally:
            await self._episode.close()
        return output

    async def _settle(self, output: AgentLoopOutput) -> None:
        outcome, reward = "invalid", 0.0
        try:
            if self._fault is None:
                outcome, reward = (await self._episode.outcome()).value, await self._episode.reward()
        except FaultError as fault:
            self._fault = fault
        if self._fault is not None:
            output.response_mask = [0] * len(output.response_mask)
        output.reward_score = reward
        output.extra_fields.update(outcome=outcome, fault=None if self._fault is None else str(self._fault))

    async def _handle_processing_tools_state(self, agent_data: AgentData) -> AgentState:
        """All calls of a turn at once, as in a rollout; what the user says to it stands behind the last answer."""
        if self._fault is not None:
            return AgentState.TERMINATED
        calls = agent_data.tool_calls[: self.max_parallel_calls]
        for at, call in enumerate(calls):
            call.tool_call_id = f"call_{agent_data.assistant_turns}_{at}"
        said = self._spoken(agent_data.messages[-1]["content"])
        turn = AgentTurn(said, tuple(ToolCall.received(call.tool_call_id, call.name, call.arguments) for call in calls))
        try:
            response = await self._episode.step(turn)
        except FaultError as fault:
            self._fault = fault
            return AgentState.TERMINATED
        told = joined_answers([observation_message(observation) for observation in response.observations])
        self._answers = {message["tool_call_id"]: message["content"] for message in told if message["role"] == "tool"}
        state = await super()._handle_processing_tools_state(agent_data)
        return AgentState.TERMINATED if self._episode.done else state

    async def _call_tool(self, tool_call: Any, tools_kwargs: Any, agent_data: AgentData) -> tuple[ToolResponse, float, dict[str, Any]]:
        return ToolResponse(text=self._answers.get(tool_call.tool_call_id, "")), 0.0, {}

    def _spoken(self, written: str) -> str | None:
        """What was said beside the calls, without the tokens that end a turn."""
        for token in self.tokenizer.all_special_tokens:
            written = written.replace(token, "")
        return written.strip() or None
