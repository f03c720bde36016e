"""Who takes part: tools in environments of their own, and synth with two engines; each does
episodes or single turns.
"""

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.command_line import SYNTH
from benchmarks.fixed_latency_server import MODEL
from benchmarks.peers.environments import interpreter
from synth.envs.echo import SYSTEM_PROMPT, WORLD

HERE = Path(__file__).parent
CALLS = 8
"""Of an episode: seven words, and `finish` or a text."""


@dataclass(frozen=True, slots=True)
class Contender:
    """A tool, its environment and driver (drivers/<driver>.py); without an environment `driver` is
    an engine of synth.
    """

    name: str
    driver: str
    environment: str | None
    calls: int
    """Per episode: 8, or 1 for tools without a tool loop."""

    @property
    def shape(self) -> str:
        """What it does, as the tables are headed."""
        return f"episodes of {self.calls} calls with a tool" if self.calls > 1 else "single turns"


CONTENDERS = (
    Contender("synth run, engine vllm", "vllm", None, CALLS),
    Contender("synth run, engine openai", "openai", None, CALLS),
    Contender(
        "verifiers 0.2.1, ToolEnv with aiohttp",
        "drive_verifiers_toolenv",
        "verifiers_toolenv",
        CALLS,
    ),
    Contender(
        "verifiers 0.2.1, ToolEnv as it comes",
        "drive_verifiers_toolenv_as_it_comes",
        "verifiers_toolenv",
        CALLS,
    ),
    Contender(
        "verifiers 0.4.0, vf-eval with a harness in its process",
        "drive_verifiers",
        "verifiers",
        CALLS,
    ),
    Contender("Inspect 0.3.285, eval", "drive_inspect", "inspect", CALLS),
    Contender("synth run, engine vllm", "vllm", None, 1),
    Contender("synth run, engine openai", "openai", None, 1),
    Contender("Curator 0.1.31, LLM", "drive_curator", "curator", 1),
    Contender("distilabel 1.5.3, generate_outputs", "drive_distilabel", "distilabel", 1),
    Contender("distilabel 1.5.3, Pipeline", "drive_distilabel_pipeline", "distilabel", 1),
)


def command(
    contender: Contender, url: str, episodes: int, in_flight: int, folder: Path, environments: Path
) -> Sequence[str]:
    """What to start; writes the work, or synth's flow, into the folder."""
    if contender.environment is None:
        flow = folder / "flow.yaml"
        flow.write_text(json.dumps(_flow(contender, url, episodes, in_flight)), encoding="utf-8")
        return (*SYNTH, "run", str(flow), "--run-dir", str(folder / "run"), "--quiet")
    goals = [task.goal for task in WORLD.make_tasks({"turns": CALLS - 1}, 0, episodes)]
    work = {
        "url": url,
        "model": MODEL,
        "system": SYSTEM_PROMPT,
        "goals": goals,
        "in_flight": in_flight,
        "folder": f"{folder}/out",
    }
    (folder / "work.json").write_text(json.dumps(work), encoding="utf-8")
    return (
        str(interpreter(environments, contender.environment)),
        str(HERE / "drivers" / f"{contender.driver}.py"),
        str(folder / "work.json"),
    )


def _flow(contender: Contender, url: str, episodes: int, in_flight: int) -> dict[str, object]:
    """Echo episodes; single turns are cut off after the first, so their episodes count as
    truncated.
    """
    return {
        "name": "peers",
        "env": {"name": "echo", "tasks": episodes, "turns": CALLS - 1},
        "models": {
            "explorer": {
                "engine": contender.driver,
                "model": MODEL,
                "base_url": url,
                "max_in_flight": in_flight,
            }
        },
        "stages": [
            {
                "rollout": {
                    "trials": 1,
                    "limits": {"max_turns": contender.calls, "stuck_after": CALLS + 1},
                }
            }
        ],
    }


def surroundings(folder: Path) -> dict[str, str]:
    """Environment variables: a home of its own, nothing that leads elsewhere, and synth's state in
    the folder.
    """
    kept = {
        name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")
    }
    for name in ("PREFECT_API_URL", "PYTHONPATH"):
        kept.pop(name, None)
    return kept | {"HOME": str(folder), "SYNTH_STATE_DIR": str(folder / "state")}
