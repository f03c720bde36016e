"""Rows of an `rl` export (form trl) as a taskset of verifiers 0.4: `vf-eval
synth.rl.verifiers_taskset --env.taskset.data FOLDER`.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import verifiers.v1 as vf

from synth.boundary import FaultError
from synth.rl.episode import UNDEFINED, task_of
from synth.rl.verifiers_toolset import TaskRow, WorldConfig, WorldState, WorldToolset, opened_by
from synth.schemas import ConfigError, SynthError

__all__ = ["WorldTaskset"]


class WorldTaskConfig(vf.TaskConfig):  # type: ignore[misc]
    """Where worlds come from, and the limits of an episode."""

    tools: WorldConfig = WorldConfig()


class WorldTasksetConfig(vf.TasksetConfig):  # type: ignore[misc]
    """`data`: the folder of an `rl` export."""

    data: Path = Path("data/rl")
    task: WorldTaskConfig = WorldTaskConfig()


class WorldTask(vf.Task[TaskRow, WorldState, WorldTaskConfig]):  # type: ignore[misc]
    """One task; its reward is the outcome that the ledger would hold."""

    @classmethod
    def toolsets(cls, config: WorldTaskConfig) -> list[Any]:
        """The world's tools."""
        return [WorldToolset(config.tools)]

    @vf.reward(weight=1.0)  # type: ignore[untyped-decorator]
    async def solved(self, trace: Any) -> float:
        """1 for a success, else 0. Raises `FaultError` where the world broke, `SynthError` where
        its check could not tell: verifiers records the error, and no reward.
        """
        state = trace.state
        if state.fault is not None:
            raise FaultError(*_fault(state.fault))

        reward = await self._untouched() if state.outcome is None else state.reward
        if reward is None:
            raise SynthError(UNDEFINED)
        return float(reward)

    async def _untouched(self) -> float | None:
        """The reward of an agent that called nothing."""
        episode = opened_by(self.config.tools)
        await episode.reset(task_of({"task": self.data.task}))

        try:
            return await episode.reward()
        finally:
            await episode.close()


class WorldTaskset(vf.Taskset[WorldTask, WorldTasksetConfig]):  # type: ignore[misc]
    """The rows of the folder, in their order."""

    def load(self) -> Iterator[WorldTask]:
        """Raises `ConfigError` where the folder holds no rows."""
        import pyarrow.parquet as pq

        shards = sorted(self.config.data.expanduser().glob("train-*.parquet"))

        if not shards:
            raise ConfigError(
                f"{self.config.data}: no train-*.parquet; write it: synth export RUN --kind rl "
                "--as trl --out FOLDER"
            )

        columns = ["task_id", "prompt", "tool_schemas", "task"]

        for shard in shards:
            for row in pq.read_table(shard, columns=columns).to_pylist():
                yield WorldTask(_data(row), self.config.task)


def _data(row: dict[str, Any]) -> TaskRow:
    messages = [json.loads(message) for message in row["prompt"]]
    system = messages.pop(0)["content"] if messages and messages[0]["role"] == "system" else None
    prompt = (
        messages[0]["content"]
        if [message["role"] for message in messages] == ["user"]
        else messages
    )

    schemas = [json.loads(tool) for tool in row["tool_schemas"]]

    return TaskRow(
        id=row["task_id"],
        system_prompt=system,
        prompt=prompt,
        task=row["task"],
        tool_schemas=schemas,
    )


def _fault(said: str) -> tuple[Any, str]:
    from synth.schemas.outcome import Fault

    name, _, detail = said.partition(": ")
    return Fault(name), detail
