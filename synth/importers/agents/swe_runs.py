"""What SWE-agent and mini-SWE-agent say of a run alike, and the public benchmark that it belongs
to.
"""

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from synth.importers.conversation import Count
from synth.importers.records import WORDS
from synth.schemas import Turn

_TURNS_ASKED = 5  # the working directory stands under every answer of the shell
_INSTANCE = re.compile(r"(?P<repository>[\w.-]+__[\w.-]+)-\d+")


_FILE = re.compile(r"(?P<instance>[\w-]+__[\w.-]+?-\d+)(?:\.|\Z)")


def instance_of(file_name: str) -> str | None:
    """The instance that a file of a run is called after (`django__django-11099.traj`), where it is:
    the agents themselves name their files so, and older ones write it nowhere else.
    """
    found = _FILE.match(file_name)
    return None if found is None else found["instance"]


class Stats(msgspec.Struct, frozen=True):
    """What a run used, as the agent counted it; USD and tokens."""

    instance_cost: float | None = None
    tokens_sent: Count = 0
    tokens_received: Count = 0
    api_calls: Count = 0


class Info(msgspec.Struct, frozen=True):
    """How a run ended, what it used, and under which settings."""

    exit_status: str | None = None
    model_stats: Stats | None = None
    config: Any = None


def swe_benchmark(
    instance: str | None, image: Any = None, turns: Sequence[Turn] = ()
) -> str | None:
    """`swe-bench/test`, `/dev` or `/unknown`, or another benchmark's name and split; None where
    nothing points to one: the instance, the container's image, or a working directory.

    What the shell answered first is searched for working directories: other work on a repository of
    SWE-bench (`/django__django`) counts as the benchmark too, so that nothing of it slips into
    training data.
    """
    named = _INSTANCE.fullmatch(instance or "")
    shown = [one.content for turn in turns[:_TURNS_ASKED] for one in turn.observations]
    if named is not None:
        shown = [f"/{named['repository']}"]

    for pattern, benchmark in WORDS["swe_agent"]["folders"].items():
        if any(re.search(pattern, text) for text in shown):
            return str(benchmark)

    # an instance of another repository is of another set (SWE-Gym, SWE-rebench, one's own)
    return "swe-bench/unknown" if "swebench" in str(image) else None
