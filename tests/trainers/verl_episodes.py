"""In the environment of the loaders: verl's data set and its worker of agent loops over an RL
export; a script stands for the model server.

python tests/trainers/verl_episodes.py MODEL_FOLDER SCRIPT_JSON OVERRIDE... (the words of the
command that the card prints)

The script gives, per task, what the model writes turn by turn. Prints per row what verl would train
on.
"""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from hydra import compose, initialize_config_module
from verl.experimental.agent_loop.agent_loop import AgentLoopWorker
from verl.protocol import DataProto
from verl.utils.dataset.rl_dataset import RLHFDataset, collate_fn
from verl.workers.rollout.replica import TokenOutput

from synth.boundary import FaultError

ABORTS = "(aborts)"
"""What a turn begins with that the server leaves unfinished."""


class ScriptedServer:
    """In the place of verl's client of vLLM: knows a task by its goal, which stands in the
    prompt.
    """

    def __init__(self, script: list[dict[str, Any]]) -> None:
        self.tokenizer: Any = None
        self._script, self._left = script, dict[str, list[str]]()
        self.asked: dict[str, list[str]] = {}

    async def generate(self, request_id: str, *, prompt_ids: list[int], **more: Any) -> TokenOutput:
        """The next turn of the request's task."""
        text = self.tokenizer.decode(prompt_ids)
        if request_id not in self._left:
            self.begun = getattr(self, "begun", 0) + 1
            found = max(
                (one for one in self._script if one["goal"] in text),
                key=lambda one: len(one["goal"]),
            )
            self._left[request_id] = list(found["turns"])
            self.asked[found["task_id"]] = []
            self._of = {**getattr(self, "_of", {}), request_id: found["task_id"]}
        self.asked[self._of[request_id]].append(text)
        written = self._left[request_id].pop(0)
        if written.startswith(ABORTS):
            return TokenOutput(
                token_ids=self.tokenizer(written, add_special_tokens=False)["input_ids"],
                stop_reason="aborted",
            )
        return TokenOutput(token_ids=self.tokenizer(written, add_special_tokens=False)["input_ids"])


async def played(
    model: str, script: list[dict[str, Any]], overrides: list[str]
) -> list[dict[str, Any]]:
    """One rollout per row, as `main_ppo` has its workers play them."""
    further = [f"actor_rollout_ref.model.path={model}", "actor_rollout_ref.rollout.name=vllm"]
    with initialize_config_module("verl.trainer.config", version_base=None):
        config = compose("ppo_trainer", overrides=[*overrides, *further])
    server = ScriptedServer(script)
    worker = AgentLoopWorker(config, server)
    server.tokenizer = worker.tokenizer
    rows = RLHFDataset(list(config.data.train_files), worker.tokenizer, config.data)
    found: list[dict[str, Any]] = []
    for row in (rows[at] for at in range(len(rows))):
        batch, task, server.begun = (
            DataProto.from_single_dict(collate_fn([row])),
            row["extra_info"]["task_id"],
            0,
        )
        batch.meta_info["validate"] = False
        try:
            made = await worker.generate_sequences(batch)
        except FaultError as fault:
            found.append(
                {
                    "task_id": task,
                    "index": row["index"],
                    "raised": str(fault),
                    "begun": server.begun,
                }
            )
            continue
        mask, ids = made.batch["response_mask"][0].bool(), made.batch["responses"][0]
        found.append(
            {
                "task_id": task,
                "index": row["index"],
                "reward": made.batch["rm_scores"][0].sum().item(),
                "outcome": made.non_tensor_batch["outcome"][0],
                "trained": worker.tokenizer.decode(ids[mask]),
                "asked": server.asked.get(task, []),
            }
        )
    return found


if __name__ == "__main__":
    model, script, *overrides = sys.argv[1:]
    made = asyncio.run(
        played(model, json.loads(Path(script).read_text(encoding="utf-8")), overrides)
    )
    print("\n" + json.dumps(made))
