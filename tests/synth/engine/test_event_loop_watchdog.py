"""A world that sleeps on the event loop is named with its line; one that awaits, or runs on
threads, is not.
"""

import asyncio
import os
import signal
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from synth.boundary import guard_async
from synth.engine.runs.event_loop import event_loop_watchdog
from synth.schemas.outcome import Fault


def named(step: Callable[[], Awaitable[None]]) -> list[str]:
    said: list[str] = []

    async def scene() -> None:
        with event_loop_watchdog(said.append, 0.1):
            await guard_async(Fault.ENVIRONMENT, "step 0", step, 10)
            await guard_async(Fault.ENVIRONMENT, "step 1", step, 10)

    asyncio.run(scene())
    return said


async def sleeps() -> None:
    time.sleep(0.5)  # noqa: ASYNC251 - what it is about


async def waits() -> None:
    await asyncio.sleep(0.5)


async def threaded() -> None:
    await asyncio.to_thread(time.sleep, 0.5)


@pytest.mark.slow
def test_code_that_holds_up_the_loop_is_named_once_with_its_place_while_it_does() -> None:
    (line,) = named(sleeps)
    assert line.startswith(
        f"{Path(__file__).name}:{sleeps.__code__.co_firstlineno + 1} in sleeps: this code has "
        "held up every episode for 0."
    )
    assert "blocking=True" in line


@pytest.mark.slow
def test_a_world_that_awaits_or_runs_on_threads_is_not_named() -> None:
    assert named(waits) == []
    assert named(threaded) == []


def test_what_the_engine_itself_computes_for_long_is_no_worlds_fault() -> None:
    said: list[str] = []

    async def scene() -> None:
        with event_loop_watchdog(said.append, 0.1):
            time.sleep(0.4)  # noqa: ASYNC251 - outside of any call into a world

    asyncio.run(scene())
    assert said == []


def test_an_interrupt_that_the_held_loop_cannot_hear_is_repeated_until_it_ends_the_run() -> None:
    """The first SIGINT only asks the main task to end, which takes a loop that runs."""
    asked: list[float] = []

    async def holds() -> None:
        while time.monotonic() - asked[0] < 10:
            time.sleep(0.01)  # noqa: ASYNC251 - what it is about

    async def scene() -> None:
        asked.append(time.monotonic())
        threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
        with event_loop_watchdog(lambda line: None, 0.2):
            await guard_async(Fault.ENVIRONMENT, "step 0", holds, 60)

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(scene())
    assert time.monotonic() - asked[0] < 5
