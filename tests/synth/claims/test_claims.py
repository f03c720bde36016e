"""Leases on pieces of work: one holder, declared dead only after a term of silence, and who was
declared dead loses.
"""

import asyncio
from pathlib import Path

import pytest

from synth.claims import Lease
from synth.claims.claims import Claim, WorkerRecord, clear_leases
from synth.claims.workers import heartbeats
from synth.ledger.storage import Storage
from synth.schemas.flow import Plan
from tests.synth.claims.machines import TERM_S, Worker


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


def test_a_whole_shard_that_others_were_seen_to_have_is_free_once_they_give_it_back(
    two: tuple[Worker, Worker],
) -> None:
    first, second = two
    hand, waiting = first.hand("w"), second.hand("w")
    waiting.others.term_s = TERM_S

    async def both() -> list[bool]:
        assert await hand.begin(shared=False)
        before = await waiting.begin(shared=True)
        hand.give_back()
        return [before, await waiting.begin(shared=True)]

    assert asyncio.run(both()) == [False, True]


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
