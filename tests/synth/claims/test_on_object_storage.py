"""The ledger and its leases on an S3 server, where conditional puts are all that workers have in
common.
"""

import subprocess
import sys
import threading
import urllib.request
from pathlib import Path

import pytest

from synth.ledger import StageRef, StoredLedger
from synth.ledger.log import manifest_checkpoints
from synth.ledger.log.fencing import FENCE, FencedError
from synth.ledger.log.lost_shards import lost_lines
from synth.ledger.log.verify import Verified, problems
from synth.ledger.storage import Storage
from synth.schemas.errors import DamagedError
from tests.synth.claims.machines import settled
from tests.trajectories import make_trajectory

pytest.importorskip("s3fs")
pytest.importorskip("moto")
pytest.importorskip("flask")
pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[3]
REF = StageRef("rollout", "key1")


def lose(server: str, count: int, path: str) -> None:
    urllib.request.urlopen(
        urllib.request.Request(f"{server}/-/lose?count={count}&path={path}", method="POST")
    )


def test_a_name_is_given_once(bucket: str) -> None:
    storage = Storage(bucket)
    assert storage.create("manifest/0", b"first")
    assert not storage.create("manifest/0", b"second")
    assert storage.read("manifest/0") == b"first"


def test_of_many_that_create_a_name_at_once_one_does(bucket: str) -> None:
    storage, created = Storage(bucket), list[int]()
    barrier = threading.Barrier(8)

    def create(number: int) -> None:
        barrier.wait()
        if storage.create("manifest/0", str(number).encode()):
            created.append(number)

    threads = [threading.Thread(target=create, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [str(number).encode() for number in created] == [storage.read("manifest/0")]


@pytest.mark.parametrize("path", ["/manifest/", "/trajectories/", "/claims/"])
def test_a_put_whose_answer_is_lost_is_known_for_ours_when_it_is_sent_again(
    bucket: str, server: str, path: str
) -> None:
    """Sent again it is refused: taken for another writer's, the shard were committed twice, or its
    files were removed.
    """
    ledger = StoredLedger(f"{bucket}-{path.strip('/')}", create=True)
    lose(server, 1, path)
    ledger.commit(REF, trajectories=[make_trajectory("x")])
    again = StoredLedger(ledger.storage.url)
    assert settled(ledger.storage.url) == [("x", 0)]
    assert lost_lines(again.state) == []
    assert [t.slot_id for t in again.trajectories(every=True)] == ["x"]


def test_lines_that_another_process_appends_after_a_listing_are_seen(bucket: str) -> None:
    reader = StoredLedger(bucket, create=True)
    reader.storage.names("manifest")
    code = (
        "import sys; from synth.ledger import StoredLedger, StageRef;"
        "from tests.trajectories import make_trajectory;"
        "StoredLedger(sys.argv[1]).commit(StageRef('rollout', 'key1'), "
        "trajectories=[make_trajectory('x')])"
    )
    subprocess.run([sys.executable, "-c", code, bucket], cwd=ROOT, check=True)
    assert reader.refresh().lines == 2
    reader.commit(REF, trajectories=[make_trajectory("y")])
    assert settled(bucket) == [("x", 0), ("y", 0)]


def test_a_run_is_opened_by_packs_and_a_line_that_is_missing_is_named_though_a_pack_holds_it(
    bucket: str,
) -> None:
    writer, reader = StoredLedger(bucket, create=True), StoredLedger(bucket)
    for token in range(1, 40):
        writer.fence("w", token, "h")
    assert len(writer.storage.names(manifest_checkpoints.FOLDER)) == 6
    assert reader.refresh() == writer.state
    asked: list[str] = []
    read = Storage.read
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Storage, "read", lambda self, name: (asked.append(name), read(self, name))[1])
        assert StoredLedger(bucket).state == writer.state
    assert len(asked) < 10
    assert list(problems(writer.storage, Verified())) == []
    writer.storage.discard("manifest/00000005")
    with pytest.raises(DamagedError, match="manifest/00000005: this manifest line is missing"):
        StoredLedger(bucket)


def test_two_workers_given_the_same_work_cannot_both_commit(bucket: str) -> None:
    first, second = StoredLedger(bucket, create=True), StoredLedger(bucket)
    second.fence("w", 1, "second")
    outcomes = []
    for ledger, holder in ((first, "w"), (second, "second"), (first, "w")):
        before = FENCE.set(holder)
        try:
            ledger.commit(REF, trajectories=[make_trajectory("x")])
            outcomes.append("committed")
        except FencedError:
            outcomes.append("refused")
        finally:
            FENCE.reset(before)
    assert outcomes == ["refused", "committed", "refused"]
    assert settled(bucket) == [("x", 0)]
    assert len(first.storage.names("trajectories")) == 1
