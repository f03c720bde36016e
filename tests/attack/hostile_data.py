"""Data that would run something, if anything in it were believed: each leaves a mark where it
did.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from synth.schemas.task import Task
from tests.trajectories import make_task

SEED = 16
MODULE = "hostile_module"
STARTS = (
    "command",
    "unconfined",
    "folder",
    "read_only",
    "environment",
    "task_file",
    "limits",
    "start_s",
    "masked",
    "without",
)


class Trap:
    """A folder with a module that leaves a mark when it is imported, and with a command that does
    when it is run.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.mark = folder / "canary"
        source = f"open({str(self.mark)!r}, 'w')\n\n\ndef WORLD(*a, **k):\n    raise SystemExit\n"
        for name in (MODULE, "room", "sitecustomize", "flow"):
            (folder / f"{name}.py").write_text(source)
        self.script = folder / "start.sh"
        self.script.write_text(f"#!/bin/sh\ntouch {self.mark}\nexec cat\n")
        self.script.chmod(0o755)

    def sprung(self) -> bool:
        """Whether anything ran, or was imported."""
        return self.mark.exists() or MODULE in sys.modules

    def commands(self) -> list[Any]:
        """Ways to say that something is to be run."""
        touch = f"touch {self.mark}"
        return [
            ["/bin/sh", "-c", touch],
            [str(self.script)],
            [sys.executable, "-c", f"open({str(self.mark)!r}, 'w')"],
            [sys.executable, "-m", MODULE],
            touch,
            ["env", "sh", "-c", touch],
            ["/bin/sh", str(self.script)],
            [f"$({touch})"],
            ["npx", touch],
        ]

    def names(self) -> list[str]:
        """Names of environments that are modules, files or nothing."""
        dotted = [
            f"{MODULE}:WORLD",
            f"{MODULE}:main",
            "room:WORLD",
            "os:system",
            "subprocess:run",
            "builtins:exec",
            "synth.envs.mcp.world:WORLD",
        ]
        paths = [
            "../room:WORLD",
            str(self.folder / "room.py"),
            f"file://{self.folder}/room.py",
            "MCP",
            "mcp ",
            "mcp\n",
            "",
            "-",
            "mcp=x",
        ]
        return [
            *dotted,
            *paths,
            "importlib:import_module",
            "a" * 5000,
            "synth.envs.echo",
            "synth.envs.echo:WORLD",
            "synth.flows.environments:open_env",
            "mcp\0",
        ]


def configs(trap: Trap, count: int) -> Iterator[dict[str, Any]]:
    """Settings of an MCP task that say how a server is started, in every mixture with what a task
    may say.
    """
    draw = Random(SEED)
    commands = trap.commands()
    for at in range(count):
        found: dict[str, Any] = {"command": commands[at % len(commands)]}
        said = {
            "unconfined": True,
            "folder": str(trap.folder),
            "read_only": ["/", str(trap.folder)],
            "task_file": "/etc/passwd",
            "environment": {
                "LD_PRELOAD": str(trap.script),
                "PYTHONPATH": str(trap.folder),
                "KEY": {"from_env": "HOME"},
            },
            "limits": {"memory_mb": 10**9, "processes": 10**9, "disk_mb": 10**12},
            "start_s": 1e300,
            "call_s": 1e300,
            "stateless": True,
            "masked": ["(a+)+$"],
            "refused": ["(a|a)*b"],
            "without": ["go"],
        }
        found |= {
            name: said[name] for name in draw.sample(sorted(said), draw.randint(0, len(said)))
        }
        known: dict[str, Any] = {
            "free": ["*/*/*"],
            "digest": "0" * 24,
            "ignore": ["**"],
            "explored_seed": at,
            "system_prompt": "Hello.",
        }
        yield found | {
            name: known[name] for name in draw.sample(sorted(known), draw.randint(0, len(known)))
        }


def tasks(trap: Trap, count: int) -> Iterator[Task]:
    """Tasks that name an environment which is started by them, or imported by its name."""
    names = trap.names()
    for at, config in enumerate(configs(trap, count)):
        yield make_task(
            env="mcp" if at % 2 else names[at % len(names)],
            env_config=config,
            goal=f"Run {at}.",
            seed=at,
        )


def row_of(task: Task) -> dict[str, Any]:
    """A row of an `rl` export (form trl)."""
    text = msgspec.json.encode(task).decode()
    tools = [
        {
            "type": "function",
            "function": {"name": "go", "parameters": {"type": "object", "properties": {}}},
        }
    ]
    return {
        "task_id": task.task_id,
        "environment": task.env,
        "task": text,
        "tool_schemas": tools,
        "prompt": [],
    }


def enormous(seed: int, count: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """(environment, settings) with numbers, texts and lists that nobody can hold."""
    draw = Random(seed)
    fields = {
        "echo": ("turns", "payload_bytes", "step_ms", "blocking_ms"),
        "storefront": (
            "customers",
            "orders",
            "page_size",
            "rules_in_force",
            "world_seed",
            "operations",
            "budget_slack",
            "tasks_per_world",
        ),
        "textworld": ("rooms", "objects", "quest_length", "quests", "explored_seed"),
        "mcp": ("explored_seed", "system_prompt", "free", "ignore", "digest", "started_by"),
    }
    values: list[Any] = [
        10**9,
        10**18,
        2**63,
        10**400,
        -(10**30),
        1e308,
        "x" * 3_000_000,
        [1] * 100_000,
        ["*" * 9_000] * 900,
        {"a": {}},
    ]
    for _ in range(count):
        name = draw.choice(sorted(fields))
        yield name, {draw.choice(fields[name]): draw.choice(values)}
