"""What the package of τ²-bench holds: a domain's policy, database, tools and tasks. Only its
domains are imported, none of what runs agents or asks models.
"""

import json
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from functools import cache
from importlib import import_module
from types import SimpleNamespace
from typing import Any

from pydantic import ValidationError

from synth.envs.tau2.rows import CopiedRows, changes, listed, single
from synth.envs.tool_env.signature import readable
from synth.schemas import ConfigError, Facts, ToolSchema, content_hash, explain

SOLO = frozenset({"telecom"})
"""Domains that the benchmark itself lets an agent do alone: a ticket, and both sides' tools."""
CLOSE = "done"
_DATABASES = {"telecom": "TelecomDB", "retail": "RetailDB", "airline": "FlightDB"}


class Domain:
    """A domain, read once for all episodes."""

    def __init__(self, name: str) -> None:
        self.name, self.solo = name, name in SOLO
        self._start = _module(f"tau2.domains.{name}.environment").get_environment
        paths = vars(import_module(f"tau2.domains.{name}.utils"))
        prefix, kinds = name.upper(), import_module(f"tau2.domains.{name}.data_model")
        self._database = getattr(kinds, _DATABASES[name]).load(paths[f"{prefix}_DB_PATH"])
        self._phone: Any = None
        if self.solo:
            _module(f"tau2.domains.{name}.tools").uuid = _BILLS
            phones = _module(f"tau2.domains.{name}.user_data_model").TelecomUserDB
            self._phone = phones.load(paths[f"{prefix}_USER_DB_PATH"])

        path = paths[f"{prefix}_TASK_SET_PATH"]
        self._tasks = {one["id"]: one for one in _read(path)}
        self.splits: Mapping[str, Sequence[str]] = _read(path.parent / "split_tasks.json")
        begun = self._start(solo_mode=True) if self.solo else self.begun(None)
        self.policy = str(begun.policy)
        self._offer(*begun.get_tools(), *(begun.get_user_tools() if self.solo else ()))

    def _offer(self, *tools: Any) -> None:
        self.tools: tuple[ToolSchema, ...] = tuple(deepcopy(one.openai_schema) for one in tools)
        self._taken = {one.name: one.params for one in tools}

    @property
    def databases(self) -> tuple[Any, Any]:
        """As the package has them: the desk's, and telecom's phone."""
        return self._database, self._phone

    @property
    def ids(self) -> Sequence[str]:
        """Of all its tasks."""
        return tuple(self._tasks)

    def told(self, identity: str) -> Any:
        """What the customer of a task is told, as the file has it."""
        return self._tasks[identity]["user_scenario"]["instructions"]

    def digest(self, identity: str) -> str:
        """Of a task as the package has it."""
        return content_hash(self._tasks[identity])

    def task(self, identity: str) -> Any:
        """A task in the package's own type. Raises `ConfigError` for one that it does not have."""
        if identity not in self._tasks:
            raise ConfigError(f"tau2: {self.name} has no task {identity[:80]!r} in this package")
        return _module("tau2.data_model.tasks").Task.model_validate(self._tasks[identity])

    def refused(self, name: str, given: Mapping[str, Any]) -> str | None:
        """Why a tool does not take these arguments: the package looks at no type."""
        if name not in self._taken:
            return f"Tool '{readable(name, 80)}' not found."
        try:
            self._taken[name].model_validate(given)
        except ValidationError as error:
            return explain(error, self._taken[name], name)
        return None

    def begun(self, task: Any) -> Any:
        """The package's environment as a task begins."""
        if self.solo:
            database, phone = deepcopy(self._database), deepcopy(self._phone)
            env = self._start(db=database, user_db=phone)
            env.solo_mode = True  # the policy apart, all that the package's own switch sets
        else:
            kind, rows = type(self._database), vars(self._database)
            env = self._start(
                db=kind.model_construct(**{name: CopiedRows(rows[name]) for name in rows})
            )
        if task is not None and task.initial_state is not None:
            first = task.initial_state
            env.set_state(first.initialization_data, first.initialization_actions, [])
        return env

    def facts(self, env: Any) -> Facts:
        """All that telecom's databases hold; elsewhere what has changed."""
        if not self.solo:
            return dict(changes(env.tools.db))
        phone = env.user_tools.db
        kept = [
            *listed(env.tools.db),
            *single("phone", phone.device),
            *single("surroundings", phone.surroundings),
        ]
        return dict(kept)


def called(env: Any, name: str, arguments: Mapping[str, Any]) -> tuple[Any, Any]:
    """(the call, the answer) in the package's own types."""
    kinds = _module("tau2.data_model.message")
    call = kinds.ToolCall(id="", name=name, arguments=dict(arguments))
    _BILLS.local.made = len(getattr(env.tools.db, "bills", ()))
    return call, env.get_response(call)


@cache
def domain(name: str) -> Domain:
    """A domain by its name."""
    return Domain(name)


def scenario(task: Any) -> str:
    """What the package tells who plays the customer of a task."""
    rules = _module("tau2.utils.utils").DATA_DIR / "tau2/user_simulator/simulation_guidelines.md"
    return f"{rules.read_text('utf-8')}\n\n<scenario>\n{task.user_scenario}\n</scenario>"


class _BillNumbers:
    """Stands for `uuid` where telecom numbers a bill: by how many there are, since the same calls
    must end in the same state.
    """

    local = threading.local()

    def uuid4(self) -> SimpleNamespace:
        """The next number, as eight digits."""
        return SimpleNamespace(hex=f"{self.local.made:08d}")


_BILLS = _BillNumbers()


def _read(path: Any) -> Any:
    return json.loads(path.read_text("utf-8"))


@cache
def _module(name: str) -> Any:
    """A module of the package. As it is imported it would print, and take over what a `.env` file
    near it says.
    """
    import_module("loguru").logger.disable("tau2")
    with _nothing_from_files():
        return import_module(name)


@contextmanager
def _nothing_from_files() -> Iterator[None]:
    before = os.environ.get("PYTHON_DOTENV_DISABLED")
    os.environ["PYTHON_DOTENV_DISABLED"] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHON_DOTENV_DISABLED"]
        else:
            os.environ["PYTHON_DOTENV_DISABLED"] = before
