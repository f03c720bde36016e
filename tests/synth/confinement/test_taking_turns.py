"""More commands at a time than there are cores: each has its time to itself."""

import asyncio
import os
import time
from pathlib import Path

import pytest

from synth.boundary import guard_async
from synth.confinement import Branch, ProcessLimits, Ran, branch_of, missing
from synth.schemas import Fault

pytestmark = [pytest.mark.slow, pytest.mark.skipif(missing() is not None, reason=str(missing()))]
CORES = max(2, os.cpu_count() or 2)
COUNTS = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"
AT_ONCE = 10 * CORES


def command(branch: Branch, time_s: float) -> "asyncio.Future[Ran]":
    return asyncio.ensure_future(branch.run(["/bin/sh", "-c", COUNTS], time_s=time_s))


def test_a_command_that_ends_in_its_time_does_so_among_many_that_compute(tmp_path: Path) -> None:
    async def play() -> None:
        limits = ProcessLimits()
        async with branch_of(tmp_path, limits=limits) as one:
            began = time.monotonic()
            assert (await command(one, 60)).code == 0
            alone_s = time.monotonic() - began

        patience_s = 4 * alone_s

        async def counted() -> Ran:
            async with branch_of(tmp_path, limits=limits) as branch:
                return await guard_async(
                    Fault.ENVIRONMENT, "step", lambda: command(branch, patience_s), 2 * patience_s
                )

        began = time.monotonic()
        found = await asyncio.gather(*(counted() for _ in range(AT_ONCE)))
        assert [one.ended_by for one in found] == [None] * AT_ONCE
        assert time.monotonic() - began > 2 * patience_s  # so that there is something to wait for

    asyncio.run(play())


def test_one_that_takes_too_long_is_ended_and_its_turn_is_the_next_ones(tmp_path: Path) -> None:
    async def play() -> None:
        async with branch_of(tmp_path, limits=ProcessLimits()) as branch:
            for _ in range(2 * CORES):
                ended = await branch.run(["/bin/sh", "-c", "while :; do :; done"], time_s=0.2)
                assert ended.ended_by == "time"

            assert (await command(branch, 60)).code == 0

    asyncio.run(play())
