"""verifiers 0.2: `ToolEnv.evaluate` in this process, the classic interface. Results are saved as
they come (`save_results`).
"""

import asyncio
from pathlib import Path

import verifiers as vf
from datasets import Dataset
from echo_work import Work, echo
from verifiers.clients import OpenAIChatCompletionsClient


def said_something(completion) -> float:
    """A reward, because scoring needs one: whether the rollout ended in text."""
    return float(bool(completion and completion[-1].content))


def evaluate(work: Work, client: OpenAIChatCompletionsClient) -> None:
    """One rollout per goal, each scored by itself, all admitted at once up to the limit."""
    environment = vf.ToolEnv(
        eval_dataset=Dataset.from_list([{"question": goal, "answer": ""} for goal in work.goals]),
        system_prompt=work.system,
        tools=[echo],
        max_turns=100,
        rubric=vf.Rubric(funcs=[said_something]),
    )
    outputs = asyncio.run(
        environment.evaluate(
            client,
            work.model,
            num_examples=len(work.goals),
            rollouts_per_example=1,
            max_concurrent=work.in_flight,
            results_path=Path(work.folder) / "results",
            save_results=True,
            independent_scoring=True,
            on_progress=lambda *_: None,
        )
    )
    failed = [output["error"] for output in outputs["outputs"] if output.get("error")]
    if failed or len(outputs["outputs"]) != len(work.goals):
        raise SystemExit(f"{len(failed)} rollouts failed: {failed[:1]}")
