"""Runs whose rows were found to be bad, and what of them leaves."""

import base64
import gzip
import re
from pathlib import Path
from typing import Any

import msgspec

from synth.schemas.check import Check, RowPredicate
from synth.schemas.task import Task
from synth.schemas.trajectory import ToolCall, Trajectory
from tests.trajectories import make_trajectory, make_turn


def calling(arguments: str, **fields: Any) -> dict[str, Any]:
    call = ToolCall.received("call_0", "look", arguments)
    return {
        "turns": (
            make_turn(0, tool_calls=(call,)),
            make_turn(1, content="Done.", tool_calls=(), observations=()),
        ),
        **fields,
    }


def identity(name: str) -> str:
    return name.encode().hex()[:24].ljust(24, "0")


def a_task(name: str, **fields: Any) -> Task:
    given = {
        "env": "echo",
        "goal": f"Do {name}.",
        "check": Check(required=(RowPredicate("t", {"id": "1"}),)),
        **fields,
    }
    return msgspec.structs.replace(
        Task(task_id="", **given), task_id=identity(f"task {name}"[::-1])
    )


def trajectory(name: str, task: Task, **fields: Any) -> Trajectory:
    found = make_trajectory(identity(name), turns=0, task_id=task.task_id, system_prompt=None)
    return msgspec.structs.replace(found, trajectory_id=identity(name), **fields)


def page(folder: Path) -> str:
    """All that the report holds, unpacked."""
    html = (folder / "report.html").read_text()
    blobs = re.findall(r'id="packed-[\w-]+">([A-Za-z0-9+/=]*)</script>', html)
    return html + "".join(gzip.decompress(base64.b64decode(blob)).decode() for blob in blobs)
