"""Inspect: one task, a tool and the `generate` loop, through the `openai-api` provider.

Quickest settings that keep the samples: `max_connections` and `max_samples` as asked for, a local
`.eval` log, no live display,
no realtime log, no raw calls in the log, no control server. The openai package's aiohttp transport
made no difference here.
"""

from echo_work import given
from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import GenerateConfig, get_model
from inspect_ai.solver import generate, system_message, use_tools
from inspect_ai.tool import tool


@tool
def echo():
    """The tool as Inspect wants it: a function that makes it."""

    async def execute(text: str) -> str:
        """Says a text back.

        Args:
            text: The text to say back.
        """
        return text

    return execute


def main() -> None:
    """Evaluates every goal once."""
    work = given()
    task = Task(
        dataset=MemoryDataset([Sample(input=goal) for goal in work.goals]),
        solver=[system_message(work.system), use_tools(echo()), generate()],
    )
    config = GenerateConfig(max_connections=work.in_flight, max_retries=0)
    [log] = eval(
        task,
        model=get_model(
            f"openai-api/local/{work.model}", base_url=work.url, api_key="none", config=config
        ),
        max_samples=work.in_flight,
        display="none",
        log_dir=work.folder,
        log_format="eval",
        log_level="error",
        log_realtime=False,
        log_model_api=False,
        log_images=False,
        score=False,
        ctl_server=False,
        acp_server=False,
    )
    if log.status != "success" or len(log.samples or []) != len(work.goals):
        raise SystemExit(f"{log.status}: {log.error}")


if __name__ == "__main__":
    main()
