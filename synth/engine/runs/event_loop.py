"""The event loop of a run: an environment that computes or sleeps on it is named and
keeps no run from ending, and the garbage collector is held back meanwhile.
"""

import asyncio
import gc
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from synth.boundary import guard_async, place_in

STALL_S = 5.0
THRESHOLDS = (50_000, 20, 100)
"""Python's own first is 700: with thousands of live episodes a quarter of the client's CPU goes
into looking at them again.
"""


@contextmanager
def event_loop_watchdog(say: Callable[[str], None], stall_s: float = STALL_S) -> Iterator[None]:
    """Watches the running event loop from a thread; says one line per place in foreign code that
    keeps it for `stall_s`.

    A run that was told to end while its loop is kept cannot hear it: the interrupt is repeated,
    until it is raised in that code.
    """
    loop, over, task = asyncio.get_running_loop(), threading.Event(), asyncio.current_task()
    beat = [time.monotonic()]

    def tick() -> None:
        beat[0] = time.monotonic()
        if not over.is_set():
            loop.call_later(stall_s / 4, tick)

    tick()
    watched = (threading.get_ident(), task, beat, over, say, stall_s)
    thread = threading.Thread(target=_watch, args=watched, daemon=True, name="stalls")
    thread.start()

    try:
        yield
    finally:
        over.set()


def _watch(
    loop_thread: int,
    task: "asyncio.Task[Any] | None",
    beat: list[float],
    over: threading.Event,
    say: Callable[[str], None],
    stall_s: float,
) -> None:
    """The thread's work: looks at the loop's last tick, four times within `stall_s`, and names each
    place once.
    """
    named: set[str] = set()

    while not over.wait(stall_s / 4):
        late = time.monotonic() - beat[0]
        if (
            late > stall_s
            and task is not None
            and task.cancelling()
            and loop_thread == threading.main_thread().ident
        ):
            signal.pthread_kill(loop_thread, signal.SIGINT)
        place = _foreign_place(sys._current_frames().get(loop_thread)) if late > stall_s else None
        if place is not None and place not in named:
            named.add(place)
            say(
                f"{place}: this code has held up every episode for {late:.1f} s; a world that "
                "computes or waits for long without "
                "`await` says blocking=True in its EnvSpec, and is then stepped on threads"
            )


def _foreign_place(frame: FrameType | None) -> str | None:
    """The place in an environment (or a user's policy) where the thread is; None where it is in
    none.
    """
    frames: list[tuple[FrameType, int]] = []

    while frame is not None and frame.f_code is not guard_async.__code__:
        frames.append((frame, frame.f_lineno))
        frame = frame.f_back

    return place_in(frames[::-1]) if frame is not None else None


@contextmanager
def gc_paused() -> Iterator[None]:
    """Leaves alone what is there already, and looks for cycles more seldom; what is counted to zero
    is freed at once, as ever.
    """
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)

    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
