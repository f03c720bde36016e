"""The one place where an exception of a world, a model or a user's own module becomes a recorded
fault, or one line for the user.
"""

import asyncio
import contextlib
import importlib
import signal
import threading
import traceback
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any, ParamSpec, TypeVar

from synth.nobodys_time import LIMITS
from synth.schemas import ConfigError, Fault, ModelError, SynthError, valid_text
from synth.side_by_side import being_stopped

P = ParamSpec("P")
T = TypeVar("T")

LONGEST = 500
"""Characters of a fault's detail."""
_MACHINERY = frozenset({"synth", "asyncio", "concurrent", "threading", "importlib"})
"""Packages whose frames stand between the boundary and foreign code; of ours all but `synth.envs`.
"""


class FaultError(Exception):
    """The machinery broke at a boundary; it ends the attempt as `invalid`, and is never a label.

    `context_overflow`: a model's context is full, which is the agent's own doing. `final`: a
    model's server said that asking again
    will not help.
    """

    def __init__(
        self, fault: Fault, detail: str, *, context_overflow: bool = False, final: bool = False
    ) -> None:
        super().__init__(f"{fault}: {detail}")
        self.fault = fault
        self.detail = detail
        self.context_overflow = context_overflow
        self.final = final


class NotStarted(Exception):  # noqa: N818 - no error: the run takes no new work
    """An episode that was about to ask its model for the first time may not begin any more; its
    slot stays open.
    """


async def guard_async(
    fault: Fault,
    what: str,
    call: Callable[[], Awaitable[T]],
    timeout_s: float | None,
    clock: asyncio.Timeout | None = None,
) -> T:
    """Awaits `call()` into foreign code; whatever it raises becomes a `FaultError` of that
    boundary, a late answer one of `timeout`.

    `clock`: a timeout of `timeout_s` that the caller stops while something else is waited for.

    So do cancellation, exit and interrupt that the foreign code raises itself. What the user or the
    disk must mend (`SynthError`),
    faults already named and the engine's own cancellation pass through.
    """
    task, outer = asyncio.current_task(), LIMITS.get()
    pending = task.cancelling() if task is not None else 0

    try:
        async with clock or asyncio.timeout(timeout_s) as limit:
            LIMITS.set((*outer, limit))
            try:
                answer = await call()
            finally:
                LIMITS.set(outer)
    except (SynthError, FaultError, NotStarted):
        raise
    except ModelError as error:
        boundary = Fault.TIMEOUT if error.timeout else fault
        overflow = error.context_overflow and fault in (Fault.MODEL, Fault.JUDGE)
        raise FaultError(
            boundary,
            _detail(what, words(error)),
            context_overflow=overflow,
            final=not error.retryable,
        ) from error
    except BaseException as error:
        if _stops_the_process(error, task):
            raise

        if await _cancelled(task, pending):
            raise asyncio.CancelledError from error

        late = limit.expired()
        why = f"no answer within {timeout_s or 0:g} s" if late else described(error)
        raise FaultError(Fault.TIMEOUT if late else fault, _detail(what, why)) from error

    if task is not None and task.cancelling() > pending:
        if await _cancelled(task, pending):
            raise asyncio.CancelledError

        raise FaultError(fault, _detail(what, "it cancelled the task that runs it"))

    return answer


async def ran(function: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
    """What a function of foreign code gives, for `guard_async`."""
    return function(*args, **named)


async def _cancelled(task: "asyncio.Task[Any] | None", pending: int) -> bool:
    """Whether the engine itself, or the limit of a crossing around this one, wants the task
    cancelled; what foreign code did to its own
    task is undone.
    """
    if task is None or task.cancelling() <= pending:
        return False

    if being_stopped() or any(limit.expired() for limit in LIMITS.get()):
        return True

    while task.cancelling() > pending:
        task.uncancel()

    with contextlib.suppress(asyncio.CancelledError):  # it may not have been delivered yet
        await asyncio.sleep(0)

    return False


def guard(what: str, function: Callable[[], T]) -> T:
    """The result of a user's own function. Raises `ConfigError` in one line, with the place, for
    whatever it raises.
    """
    try:
        return function()
    except SynthError:
        raise
    except (Exception, SystemExit) as error:
        raise ConfigError(_detail(what, described(error))) from error


async def guard_part(what: str, call: Callable[[], Awaitable[T]]) -> T:
    """The same for a user's own coroutine; faults that are named already pass through."""
    try:
        return await call()
    except (SynthError, FaultError, NotStarted):
        raise
    except (Exception, SystemExit) as error:
        raise ConfigError(_detail(what, described(error))) from error


def imported(what: str, target: str) -> Any:
    """What `package.module:attribute` names. Raises `ConfigError` in one line, with the place in
    the user's code.
    """
    module_name, _, attribute = target.partition(":")

    try:
        module = importlib.import_module(module_name)
    except (Exception, SystemExit) as error:
        why = described(error)
        if isinstance(error, SyntaxError):
            place = f" ({Path(error.filename).name}:{error.lineno})" if error.filename else ""
            why = f"SyntaxError: {error.msg}{place}"
        elif isinstance(error, ImportError):
            why = f"{words(error)}{_placed(error)}"

        raise ConfigError(f"{what}: cannot import {module_name}: {why}") from error

    try:
        return getattr(module, attribute)
    except AttributeError as error:
        raise ConfigError(f"{what}: {module_name} has no {attribute}") from error


def described(error: BaseException) -> str:
    """An exception in one line: its type, its message, and the innermost line of the foreign code
    that it came from.
    """
    message = words(error)
    return type(error).__name__ + (f": {message[:LONGEST]}" if message else "") + _placed(error)


def words(error: BaseException) -> str:
    """An exception's message in one line, also where it has none that can be shown."""
    try:
        return " ".join(valid_text(str(error)).split())
    except BaseException as broken:  # noqa: BLE001 - a world's exception may have any `__str__`
        return f"(its message cannot be shown: {type(broken).__name__})"


def place_in(frames: Sequence[tuple[FrameType, int]]) -> str | None:
    """`file.py:12 in step` of the innermost foreign frame, from frames and line numbers, outermost
    first; None where all are ours.

    Foreign is the package that was called first from ours: what it called in turn is no place that
    its author looks at.
    """
    first, place = None, None

    for frame, line in frames:
        package = _package(frame)
        first = first or (package if package not in _MACHINERY else None)

        if package == first:
            code = frame.f_code
            place = f"{Path(code.co_filename).name}:{line} in {code.co_name}"

    return place


def _placed(error: BaseException) -> str:
    place = place_in(list(traceback.walk_tb(error.__traceback__)))
    return f" ({place})" if place is not None else ""


def _package(frame: FrameType) -> str:
    module = str(frame.f_globals.get("__name__", ""))
    return "synth.envs" if f"{module}.".startswith("synth.envs.") else module.partition(".")[0]


def _detail(what: str, text: str) -> str:
    """The end is kept: it says where."""
    if len(what) + len(text) + 2 > LONGEST:
        half = (LONGEST - len(what)) // 2 - 4
        text = f"{text[:half]} ... {text[-half:]}"

    return f"{what}: {text}"


def _stops_the_process(error: BaseException, task: "asyncio.Task[Any] | None") -> bool:
    """Whether an exit or interrupt is the process's own: a signal, or the event loop that is taken
    down.
    """
    if isinstance(error, GeneratorExit):
        # thrown by `close()` from outside the task, or raised by the world inside it
        try:
            return task is None or task.done() or asyncio.current_task() is not task
        except RuntimeError:
            return True

    if isinstance(error, KeyboardInterrupt):
        anywhere = (signal.default_int_handler, signal.SIG_IGN, None)
        main = threading.current_thread() is threading.main_thread()
        return main and (
            signal.getsignal(signal.SIGINT) in anywhere
            or any(other.cancelling() for other in asyncio.all_tasks())
        )

    return False
