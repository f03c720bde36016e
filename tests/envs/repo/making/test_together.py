"""Several coroutines are waited for at once, and none is left behind."""

import asyncio

import pytest

from synth.envs.repo.making.together import together


def test_what_each_gives_in_their_order() -> None:
    async def after(turns: int) -> int:
        for _ in range(turns):
            await asyncio.sleep(0)
        return turns

    assert asyncio.run(together(after(turns) for turns in (5, 1, 3))) == [5, 1, 3]


@pytest.mark.parametrize("cancelled", [True, False])
def test_where_one_fails_or_who_waits_is_cancelled_the_others_have_ended(cancelled: bool) -> None:
    ended = []

    async def work(number: int) -> None:
        try:
            await asyncio.sleep(0)
            if number == 1 and not cancelled:
                raise ValueError("one")
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0)
            ended.append(number)

    async def main() -> None:
        waiting = asyncio.create_task(together(work(number) for number in (1, 2)))
        for _ in range(3):
            await asyncio.sleep(0)
        if cancelled:
            waiting.cancel()
        with pytest.raises(asyncio.CancelledError if cancelled else ValueError):
            await waiting
        assert sorted(ended) == [1, 2]

    asyncio.run(main())
