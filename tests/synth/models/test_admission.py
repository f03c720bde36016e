import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.boundary import NotStarted
from synth.models.admission import AdmittedChat, ConcurrencyLimit
from synth.schemas.model import Sampling
from tests.synth.models.scripted import ScriptedChat, says


def test_callers_are_admitted_in_the_order_in_which_they_came() -> None:
    async def scene() -> list[int]:
        gate, order = ConcurrencyLimit(1), []

        async def call(number: int) -> None:
            async with gate:
                order.append(number)
                await asyncio.sleep(0)

        await asyncio.gather(*(call(number) for number in range(20)))
        return order

    assert asyncio.run(scene()) == list(range(20))


def test_no_more_than_the_limit_are_in_flight_and_the_rest_are_counted_as_waiting() -> None:
    async def scene() -> None:
        gate, leave = ConcurrencyLimit(3), asyncio.Event()

        async def call() -> None:
            async with gate:
                await leave.wait()

        calls = [asyncio.create_task(call()) for _ in range(10)]
        await asyncio.sleep(0)
        assert (gate.in_flight, gate.waiting) == (3, 7)
        leave.set()
        await asyncio.gather(*calls)
        assert (gate.in_flight, gate.waiting) == (0, 0)

    asyncio.run(scene())


def test_a_newcomer_does_not_overtake_one_who_was_just_admitted() -> None:
    async def scene() -> list[str]:
        gate, order = ConcurrencyLimit(1), []

        async def call(name: str) -> None:
            async with gate:
                order.append(name)

        async with gate:
            first = asyncio.create_task(call("first"))
            await asyncio.sleep(0)
        await asyncio.gather(call("newcomer"), first)
        return order

    assert asyncio.run(scene()) == ["first", "newcomer"]


def test_one_cancelled_in_the_moment_of_admission_hands_the_place_on() -> None:
    async def scene() -> None:
        gate = ConcurrencyLimit(1)

        async def call() -> None:
            async with gate:
                pass

        async with gate:
            admitted, next_one = asyncio.create_task(call()), asyncio.create_task(call())
            await asyncio.sleep(0)
        admitted.cancel()  # its place is granted already, but it has not run yet
        await asyncio.wait_for(next_one, 1)
        assert (gate.in_flight, gate.waiting) == (0, 0)

    asyncio.run(scene())


@given(
    st.integers(1, 4),
    st.lists(st.tuples(st.integers(0, 3), st.booleans(), st.integers(0, 6)), max_size=25),
)
def test_whatever_is_cancelled_when_the_bound_holds_and_every_place_comes_back(
    limit: int, plan: list[tuple[int, bool, int]]
) -> None:
    async def scene() -> None:
        gate, peak = ConcurrencyLimit(limit), 0

        async def call(steps: int) -> None:
            nonlocal peak
            async with gate:
                peak = max(peak, gate.in_flight)
                for _ in range(steps):
                    await asyncio.sleep(0)

        async def cancel_after(task: asyncio.Task[None], steps: int) -> None:
            for _ in range(steps):
                await asyncio.sleep(0)
            task.cancel()

        calls = [asyncio.create_task(call(steps)) for steps, _, _ in plan]
        killers = [
            asyncio.create_task(cancel_after(task, after))
            for task, (_, killed, after) in zip(calls, plan, strict=True)
            if killed
        ]
        await asyncio.wait_for(asyncio.gather(*calls, *killers, return_exceptions=True), 5)
        assert (gate.in_flight, gate.waiting) == (0, 0)
        assert peak <= limit

    asyncio.run(scene())


def test_an_admitted_model_keeps_its_name_and_gives_its_place_back_after_an_error() -> None:
    async def scene() -> None:
        gate = ConcurrencyLimit(1)
        model = AdmittedChat(ScriptedChat([says("one")], name="m"), gate)
        assert model.name == "m"
        assert (await model.complete([], [], Sampling())).content == "one"
        with pytest.raises(Exception, match="no reply left"):
            await model.complete([], [], Sampling())
        assert gate.in_flight == 0

    asyncio.run(scene())


def test_a_gate_that_lets_nobody_through_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        ConcurrencyLimit(0)


def test_an_episode_that_may_not_begin_asks_nothing_and_one_under_way_goes_on() -> None:
    async def scene() -> list[str]:
        script = ScriptedChat([says("one"), says("two"), says("three")])
        model, open_to_new = AdmittedChat(script, ConcurrencyLimit(1)), [True]
        first, second = (model.for_episode(lambda: open_to_new[0]) for _ in range(2))
        seen = [(await first.complete([], (), Sampling())).content or ""]
        open_to_new[0] = False
        with pytest.raises(NotStarted):
            await second.complete([], (), Sampling())
        seen.append((await first.complete([], (), Sampling())).content or "")
        assert model.admission.in_flight == 0
        assert len(script.requests) == 2
        return seen

    assert asyncio.run(scene()) == ["one", "two"]
