"""Leases on pieces of work: one holder, declared dead only after a term of silence, and who was
declared dead loses.
"""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from synth.claims import Lease, Leases
from synth.claims.claims import Claim, WorkerRecord, clear_leases
from synth.claims.slots import ClaimedSlots, PeerClaims
from synth.claims.workers import heartbeats
from synth.ledger import Ledger, StageRef
from synth.ledger.log.fencing import FENCE, FencedError
from synth.ledger.storage import Storage
from synth.schemas.stage import Plan, PlannedSlot
from tests.trajectories import make_trajectory

REF = StageRef("rollout", "key1")
TERM_S = 60.0


class Worker:
    """A worker on a machine of its own: its journals, its clock, its look at the ledger."""

    def __init__(self, url: str, machine: Path, clock_s: float = 0.0) -> None:
        os.environ["SYNTH_STATE_DIR"] = str(machine)
        self.ledger = Ledger(url, create=True)
        self.clock_s = clock_s
        self.said: list[str] = []
        self.leases = Leases(self.ledger, term_s=TERM_S, clock=lambda: self.clock_s)

    def hand(self, work: str = "w") -> ClaimedSlots:
        """What it is to hold of a shard that is claimed as a whole."""
        slot, others = PlannedSlot(work, "", 0, 0), PeerClaims(self.leases, term_s=0.0)
        return ClaimedSlots(self.leases, others, [slot], Random(0), self.said.append, whole=True)

    def lease(self, work: str = "w") -> Lease | None:
        """A claim on a piece of work, if it can be had."""
        hand = self.hand(work)
        asyncio.run(hand.begin(shared=False))
        return hand.held.get(work)

    def take(self, work: str = "w") -> int | None:
        """The number of the claim."""
        lease = self.lease(work)
        return None if lease is None else lease.number

    def commit(self, lease: Lease, name: str) -> None:
        before = FENCE.set(lease.holder)
        try:
            self.ledger.commit(REF, trajectories=[make_trajectory(name)])
        finally:
            FENCE.reset(before)

    def dies(self) -> None:
        """As a process that is killed: its lock falls, nothing is cleared away."""
        self.leases._over.set()
        if self.leases._worker is not None:
            os.close(self.leases._worker._lock)
            self.leases._worker = None


@pytest.fixture
def url(tmp_path: Path) -> str:
    return str(tmp_path / "run")


@pytest.fixture
def two(url: str, tmp_path: Path) -> Iterator[tuple[Worker, Worker]]:
    """Machines whose clocks are a day apart; the state folder of a machine is a variable that every
    test has put back for it.
    """
    workers = Worker(url, tmp_path / "a"), Worker(url, tmp_path / "b", clock_s=86_400.0)
    yield workers
    for worker in workers:
        worker.leases.close()


def test_one_worker_holds_a_piece_of_work_and_each_piece_has_a_lease_of_its_own(
    two: tuple[Worker, Worker],
) -> None:
    first, second = two
    assert first.take("w") == 0
    assert second.take("w") is None
    assert second.take("v") == 0


def test_a_lease_that_is_given_back_is_free_at_once(two: tuple[Worker, Worker]) -> None:
    first, second = two
    lease = first.lease("w")
    assert lease is not None
    first.leases.give_back(lease)
    assert second.take() == 1
    assert first.take() is None


def test_what_a_worker_held_that_is_through_is_free_at_once(two: tuple[Worker, Worker]) -> None:
    first, second = two
    assert first.take() == 0
    first.leases.close()
    assert second.take() == 1


def test_who_is_silent_for_a_whole_term_on_the_watchers_clock_loses_it(
    two: tuple[Worker, Worker],
) -> None:
    first, second = two
    assert first.take() == 0
    first.clock_s += 10 * TERM_S  # its own clock decides nothing
    assert second.take() is None
    second.clock_s += TERM_S
    assert second.take() is None
    second.clock_s += 0.1
    assert second.take() == 1


def test_a_sign_of_life_begins_the_term_anew_for_all_that_its_holder_has(
    two: tuple[Worker, Worker],
) -> None:
    first, second = two
    assert (first.take("w"), first.take("v")) == (0, 0)
    assert second.take("w") is None
    second.clock_s += TERM_S - 1
    first.leases.renew()
    assert (second.take("w"), second.take("v")) == (None, None)
    second.clock_s += TERM_S - 1
    assert (second.take("w"), second.take("v")) == (None, None)
    second.clock_s += 2
    assert (second.take("w"), second.take("v")) == (1, 1)


def test_one_line_of_the_manifest_fences_all_that_a_lost_worker_held(
    two: tuple[Worker, Worker],
) -> None:
    first, second = two
    for work in "wvu":
        assert first.take(work) == 0
        assert second.take(work) is None
    second.clock_s += TERM_S + 1
    assert [second.take(work) for work in "wvu"] == [1, 1, 1]
    assert len(second.ledger.state.fences) == 1


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
    assert [(r.attempt, r.fault) for s in Ledger(url).state.shards for r in s.slots] == [(0, None)]


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
    assert Ledger(url).state.shards == []
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
    assert [r.slot_id for s in Ledger(url).state.shards for r in s.slots] == ["y"]


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
    assert Ledger(paused.ledger.storage.url).state.shards == []


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


def test_a_claim_that_cannot_be_read_is_watched_for_a_term(
    two: tuple[Worker, Worker], url: str
) -> None:
    first, second = two
    Storage(url).replace("claims/w.0", b"{")
    assert first.take() is None
    first.clock_s += TERM_S + 1
    assert first.take() == 1
    assert second.take() is None


def test_what_a_process_of_the_same_machine_has_journaled_may_be_taken_up_once_it_is_through(
    url: str, tmp_path: Path
) -> None:
    """As after Ctrl-C: it is no dead one, and has committed nothing."""
    interrupted, beside = (Worker(url, tmp_path / "a") for _ in range(2))
    holder = interrupted.leases.holder()
    assert interrupted.leases.claim("w", holder) is not None
    interrupted.leases.close()
    claim = beside.leases.claim("w", beside.leases.holder())
    assert isinstance(claim, Claim)
    assert beside.leases.void(claim)
    assert beside.leases.gone_here == {holder}
    beside.leases.close()


def left(folder: Path) -> list[str]:
    return sorted(
        path.name
        for path in folder.rglob("*")
        if path.is_file() and path.parent.name != "manifest" and path.name != "place"
    )


def test_what_a_killed_process_has_left_is_gone_with_the_next_stage_that_is_done(
    url: str, tmp_path: Path
) -> None:
    dead, rerun, beside = (Worker(url, tmp_path / "a") for _ in range(3))
    killed = dead.leases.holder()
    dead.dies()
    holder = beside.leases.holder()
    clear_leases(rerun.ledger, "key1", Plan([]))
    assert left(tmp_path) == sorted([f"{holder}.json", f"{killed}.json", f"holder-{holder}.lock"])
    states = {beat.id: beat.state for beat in heartbeats(rerun.ledger.storage)}
    assert states == {killed: "crashed", holder: "running"}
    beside.leases.close()


def test_claims_that_may_not_be_removed_do_not_fail_a_stage_that_is_done(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = Worker(url, tmp_path / "a")
    assert worker.take("key1-w") == 0

    def refused(storage: Storage, name: str) -> None:
        raise PermissionError(13, "Permission denied", name)

    monkeypatch.setattr(Storage, "discard", refused)
    clear_leases(worker.ledger, "key1", Plan([]))
    worker.leases.close()


def test_a_claim_is_made_where_no_link_to_its_holder_can_be(url: str, tmp_path: Path) -> None:
    """On a disk a claim is a second name of its holder's sign of life, which is gone once somebody
    has declared it dead.
    """
    worker, other = (Worker(url, tmp_path / name) for name in "ab")
    holder = worker.leases.holder()
    assert all(isinstance(worker.leases.claim("w", holder), Lease) for _ in range(2)), (
        "a claim of one's own is known for that"
    )
    worker.ledger.storage.discard(f"workers/{holder}.json")
    worker.leases.claim("x", holder)
    seen = [other.leases.claim(work, other.leases.holder()) for work in "wx"]
    assert [claim.record for claim in seen if isinstance(claim, Claim)] == [
        WorkerRecord(holder, worker.leases._host_id)
    ] * 2
    for one in (worker, other):
        one.leases.close()
