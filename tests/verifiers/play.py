"""In the environment of verifiers: plays every row of a data set with the scripted harness and
prints {task id: reward or error}.

python tests/verifiers/play.py DATA_FOLDER
"""

import asyncio
import json
import sys
from pathlib import Path

import verifiers.v1 as vf

from synth.rl.verifiers_taskset import WorldTaskset, WorldTasksetConfig


async def played(data: Path) -> dict[str, object]:
    """One rollout per task."""
    taskset = WorldTaskset(WorldTasksetConfig(id="synth.rl.verifiers_taskset", data=data))
    client = vf.EvalClientConfig(base_url="http://127.0.0.1:9/v1", api_key_var="NO_KEY")
    config = vf.AgentConfig(
        harness={"id": "scripted_harness"},
        runtime=vf.SubprocessConfig(),
        model="scripted",
        client=client,
    )
    found: dict[str, object] = {}
    async with vf.Agent(config) as agent:
        for task in taskset:
            trace = await agent.run(task)
            found[task.data.id] = (
                trace.reward if not trace.errors else [error.message for error in trace.errors]
            )
    return found


if __name__ == "__main__":
    print(json.dumps(asyncio.run(played(Path(sys.argv[1])))))
