"""Who was declared dead loses what it had claimed: its commits are refused, its work is stopped."""

import asyncio
from pathlib import Path

import pytest

from synth.ledger import StoredLedger
from synth.ledger.log.fencing import FencedError
from tests.synth.claims.machines import REF, TERM_S, Worker
from tests.trajectories import make_trajectory


def test_what_a_woken_worker_commits_is_refused_and_leaves_nothing(
    two: tuple[Worker, Worker], url: str
) -> None:
    paused, other = two
    held = paused.lease("w")
    assert other.take() is None
    other.clock_s += TERM_S + 1
    taken = other.lease("w")
    assert held is not None
    assert taken is not None
    with pytest.raises(FencedError, match="was declared dead; others have what it had claimed"):
        paused.commit(held, "x")
    assert not list(Path(url).glob("trajectories/*"))
    other.commit(taken, "x")
    with pytest.raises(FencedError):
        paused.commit(held, "x")
    assert [(r.attempt, r.fault) for s in StoredLedger(url).state.shards for r in s.slots] == [
        (0, None)
    ]


def test_a_fence_that_comes_between_the_look_and_the_line_refuses_the_commit(
    two: tuple[Worker, Worker], url: str
) -> None:
    """The woken worker has read everything and written its files; its line finds its number taken
    by the fence.
    """
    paused, other = two
    held = paused.lease("w")
    assert held is not None
    write = paused.ledger.write_shard

    def slowly(*given: object) -> object:
        written = write(*given)  # type: ignore[arg-type]
        other.ledger.fence(held.holder, 1, "other")
        return written

    paused.ledger.write_shard = slowly  # type: ignore[method-assign, assignment]
    with pytest.raises(FencedError):
        paused.commit(held, "x")
    assert StoredLedger(url).state.shards == []
    assert not list(Path(url).glob("trajectories/*"))


def test_of_two_that_take_over_at_the_same_moment_one_gets_it(
    two: tuple[Worker, Worker], url: str, tmp_path: Path
) -> None:
    first, second = two
    third = Worker(url, tmp_path / "c")
    assert first.take() == 0
    for worker in (second, third):
        assert worker.take() is None
        worker.clock_s += TERM_S + 1
    assert [worker.take() for worker in (second, third)] == [1, None]
    third.leases.close()


def test_a_worker_that_was_declared_dead_takes_leases_under_another_name(
    two: tuple[Worker, Worker], url: str
) -> None:
    paused, other = two
    held = paused.lease("w")
    assert held is not None
    assert other.take() is None
    other.clock_s += TERM_S + 1
    assert other.take() == 1
    again = paused.lease("v")
    assert again is not None
    assert again.holder != held.holder
    paused.commit(again, "y")
    assert [r.slot_id for s in StoredLedger(url).state.shards for r in s.slots] == ["y"]


def test_a_worker_that_dies_between_its_fence_and_its_claim_is_no_hindrance(
    two: tuple[Worker, Worker],
) -> None:
    first, second = two
    lease = first.lease("w")
    assert lease is not None
    first.ledger.fence(lease.holder, 1, "died")
    second.ledger.refresh()
    assert second.take() == 1


def test_what_a_dead_process_of_the_same_machine_held_is_taken_over_at_once(
    url: str, tmp_path: Path
) -> None:
    """Who has the journal's lock knows that nobody on this machine is at it."""
    dead, rerun = (Worker(url, tmp_path / "a") for _ in range(2))
    assert dead.take() == 0
    dead.dies()
    assert rerun.take() == 1
    rerun.leases.close()


def test_a_worker_that_sees_itself_declared_dead_is_stopped_before_it_pays_for_more(
    two: tuple[Worker, Worker],
) -> None:
    paused, other = two
    hand = paused.hand("w")
    paid = []

    async def work() -> None:
        paid.append("before")
        paused.leases.renew()
        await asyncio.sleep(30)
        paid.append("after")

    async def worked() -> None:
        assert await hand.begin(shared=False)
        await asyncio.to_thread(other.take)
        other.clock_s += TERM_S + 1
        assert await asyncio.to_thread(other.take) == 1
        with hand.watched():
            assert await hand.under_claim("w", work) is None

    asyncio.run(worked())
    assert paid == ["before"]
    assert hand.held == {}
    assert paused.said == [
        "this process was silent for so long that others took 1 of its shards over; its own tries "
        "are dropped"
    ]


def test_a_whole_shard_whose_commit_is_refused_is_dropped(two: tuple[Worker, Worker]) -> None:
    paused, other = two
    hand = paused.hand("w")

    async def work() -> None:
        await asyncio.to_thread(other.ledger.fence, hand.held["w"].holder, 1, "other")
        paused.ledger.commit(REF, trajectories=[make_trajectory("x")])

    async def worked() -> None:
        assert await hand.begin(shared=False)
        assert await hand.under_claim("w", work) is None

    asyncio.run(worked())
    assert hand.held == {}
    assert StoredLedger(paused.ledger.storage.url).state.shards == []


def test_a_cancelled_run_is_no_lost_lease(two: tuple[Worker, Worker]) -> None:
    hand = two[0].hand("w")

    async def cancelled() -> None:
        assert await hand.begin(shared=False)
        task = asyncio.ensure_future(hand.under_claim("w", lambda: asyncio.sleep(30)))
        await asyncio.sleep(0)
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancelled())
