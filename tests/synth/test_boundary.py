"""The boundary: what foreign code raises becomes a fault of that call, and only the engine's own
cancellation passes.
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from synth.boundary import FaultError, guard, guard_async, imported
from synth.schemas.errors import ConfigError, SynthError
from synth.schemas.model import ModelError
from synth.schemas.outcome import Fault
from synth.side_by_side import run_workers

HERE = Path(__file__).name


class UnprintableError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


def cross(
    call: Callable[[], Awaitable[Any]],
    fault: Fault = Fault.ENVIRONMENT,
    timeout_s: float | None = 5,
) -> Any:
    return asyncio.run(_cross(call, fault, timeout_s))


async def _cross(call: Callable[[], Awaitable[Any]], fault: Fault, timeout_s: float | None) -> Any:
    return await guard_async(fault, "step 3", call, timeout_s)


def raising(error: BaseException) -> Callable[[], Awaitable[None]]:
    async def step() -> None:
        raise error

    return step


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ValueError("boom"), "ValueError: boom"),
        (asyncio.CancelledError(), "CancelledError"),
        (SystemExit(3), "SystemExit: 3"),
        (KeyboardInterrupt(), "KeyboardInterrupt"),
        (GeneratorExit(), "GeneratorExit"),
        (BaseExceptionGroup("two", [SystemExit(1), ValueError("x")]), "BaseExceptionGroup: two"),
        (UnprintableError(), "UnprintableError: (its message cannot be shown: RuntimeError)"),
        (ValueError("half \ud800 a pair"), "ValueError: half � a pair"),
        (ValueError("two\n  lines"), "ValueError: two lines"),
        (TimeoutError(), "TimeoutError"),
        (ModelError("full", context_overflow=True), "full"),
    ],
)
def test_whatever_a_world_raises_is_a_fault_of_that_call_with_its_place(
    error: BaseException, said: str
) -> None:
    with pytest.raises(FaultError) as caught:
        cross(raising(error))
    assert caught.value.fault is Fault.ENVIRONMENT
    assert caught.value.detail.startswith(f"step 3: {said}")
    assert not caught.value.context_overflow
    if not isinstance(error, ModelError):
        assert caught.value.detail.endswith(" in step)")
        assert HERE in caught.value.detail


def test_a_method_that_is_missing_or_not_async_is_a_fault_too() -> None:
    class Empty:
        def reset(self) -> int:
            return 3

    world: Any = Empty()
    with pytest.raises(FaultError, match="AttributeError: 'Empty' object has no attribute 'step'"):
        cross(lambda: world.step())
    with pytest.raises(
        FaultError, match="TypeError: object int can't be used in 'await' expression"
    ):
        cross(lambda: world.reset())


def test_the_place_is_the_innermost_line_of_the_users_own_code_not_of_what_it_calls() -> None:
    async def step() -> None:
        _read("{broken")

    with pytest.raises(FaultError) as caught:
        cross(step)
    assert caught.value.detail.endswith(f"({HERE}:{_read.__code__.co_firstlineno + 3} in _read)")


def _read(text: str) -> Any:
    import json

    return json.loads(text)


def test_a_long_message_keeps_its_end_where_the_place_is() -> None:
    with pytest.raises(FaultError) as caught:
        cross(raising(ValueError("x" * 10_000)))
    assert len(caught.value.detail) <= 500
    assert caught.value.detail.endswith(" in step)")


def test_the_engines_own_cancellation_passes() -> None:
    assert _cancelled(asyncio.sleep)


def test_a_world_that_swallows_or_renames_the_engines_cancellation_does_not_stop_it() -> None:
    async def swallows(seconds: float) -> str:
        try:
            await asyncio.sleep(seconds)
        except asyncio.CancelledError:
            return "went on"
        return "slept"

    async def renames(seconds: float) -> None:
        try:
            await asyncio.sleep(seconds)
        except asyncio.CancelledError as error:
            raise ValueError("renamed") from error

    assert _cancelled(swallows)
    assert _cancelled(renames)


def _cancelled(sleep: Callable[[float], Awaitable[Any]]) -> bool:
    async def scene() -> bool:
        task = asyncio.create_task(_cross(lambda: sleep(30), Fault.ENVIRONMENT, 60))
        await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.wait([task])
        return task.cancelled()

    return asyncio.run(scene())


def test_workers_that_are_stopped_are_stopped_whatever_their_worlds_do() -> None:
    went_on: list[str] = []

    async def swallows() -> None:
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            return

    async def scene() -> None:
        turns = iter([0, 1])

        async def worker() -> None:
            if next(turns) == 0:
                await asyncio.sleep(0.01)
                raise SynthError("the disk is full")
            await guard_async(Fault.ENVIRONMENT, "step 3", swallows, 60)
            went_on.append("here")

        await run_workers(2, worker)

    with pytest.raises(SynthError, match="the disk is full"):
        asyncio.run(scene())
    assert went_on == []


def test_a_late_answer_is_a_timeout_whatever_the_world_makes_of_it() -> None:
    async def renames() -> None:
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError as error:
            raise ValueError("renamed") from error

    for late in (lambda: asyncio.sleep(30), renames):
        with pytest.raises(FaultError, match=r"step 3: no answer within 0\.05 s") as caught:
            cross(late, timeout_s=0.05)
        assert caught.value.fault is Fault.TIMEOUT


def test_a_call_within_a_call_that_is_late_is_a_timeout_of_the_outer_one() -> None:
    """A world's planner that hangs is asked by a policy: the policy's limit ends it, and the fault
    is no fault of the world.
    """

    async def hangs() -> None:
        await asyncio.Event().wait()

    async def policy() -> None:
        await guard_async(Fault.ENVIRONMENT, "expert", hangs, None)

    async def worker() -> None:
        with pytest.raises(FaultError) as caught:
            await guard_async(Fault.MODEL, "policy", policy, 0.01)
        assert (caught.value.fault, caught.value.detail) == (
            Fault.TIMEOUT,
            "policy: no answer within 0.01 s",
        )

    asyncio.run(run_workers(1, worker))


def test_an_episode_that_is_thrown_away_by_the_loop_is_no_fault() -> None:
    coroutine = _cross(lambda: asyncio.sleep(30), Fault.ENVIRONMENT, None)

    async def begin() -> None:
        task = asyncio.ensure_future(coroutine)
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])

    asyncio.run(begin())
    coroutine.close()


def test_what_the_user_must_mend_passes_and_a_full_context_is_named() -> None:
    with pytest.raises(SynthError, match="mend it"):
        cross(raising(SynthError("mend it")))
    with pytest.raises(FaultError) as caught:
        cross(raising(ModelError("full", context_overflow=True)), Fault.MODEL)
    assert (caught.value.context_overflow, caught.value.final) == (True, True)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (
            "import json\n\nWORLD = json.nothing\n",
            "AttributeError: module 'json' has no attribute 'nothing' (broken_part.py:3 in "
            "<module>)",
        ),
        ("def f(:\n", "SyntaxError: invalid syntax (broken_part.py:1)"),
        (
            "\nimport no_such_package\n",
            "No module named 'no_such_package' (broken_part.py:2 in <module>)",
        ),
        ("raise SystemExit(4)\n", "SystemExit: 4 (broken_part.py:1 in <module>)"),
    ],
)
def test_a_users_module_that_cannot_be_imported_is_one_line_with_its_place(
    source: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken_part.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "broken_part", raising=False)
    with pytest.raises(ConfigError) as caught:
        imported("world 'broken_part:WORLD'", "broken_part:WORLD")
    assert str(caught.value) == f"world 'broken_part:WORLD': cannot import broken_part: {said}"


def test_a_users_function_that_raises_is_one_line_with_its_place() -> None:
    def make() -> None:
        raise KeyError("target")

    with pytest.raises(
        ConfigError, match=rf"^make_tasks: KeyError: 'target' \({HERE}:\d+ in make\)$"
    ):
        guard("make_tasks", make)
