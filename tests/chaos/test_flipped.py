"""A byte that is not what was written, in whatever file: it is named, nothing is read from it, and
all else stands.
"""

import shutil
import subprocess
import time
from pathlib import Path
from random import Random

import pytest

from synth.ledger import StoredLedger
from synth.ledger.log import manifest_checkpoints
from synth.ledger.log.verify import Verified, problems
from synth.ledger.storage import Storage
from synth.schemas.errors import DamagedError
from tests.chaos.faults_table import FaultsTable
from tests.chaos.ground import ROOT, Ground, asked, echoed, every_stage, kill
from tests.chaos.holding import Holding, held, mislabelled, rows, twice
from tests.flow_files import SYNTH
from tests.flows.test_killed import journal_lines
from tests.synth.models.chat_brains import echo_expert
from tests.synth.models.chat_server import ChatServer

pytestmark = pytest.mark.chaos
FLIPS = 40


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> str:
    ground = Ground(tmp_path_factory.mktemp("undisturbed"), every_stage())
    assert ground.run() == "finished"
    return ground.url


def flipped(path: Path, draw: Random) -> bytes:
    """Changes one bit of a file; its bytes before."""
    before = path.read_bytes()
    at = draw.randrange(len(before))
    path.write_bytes(before[:at] + bytes([before[at] ^ 1 << draw.randrange(8)]) + before[at + 1 :])
    return before


@pytest.mark.slow
def test_one_bit_of_a_committed_file_or_of_a_manifest_line(
    tmp_path: Path, table: FaultsTable, draw: Random, undisturbed: str
) -> None:
    """Read by the library and, for some, by the command line."""
    shutil.copytree(undisturbed, tmp_path / "run")
    url, truth = str(tmp_path / "run"), rows(undisturbed)
    before = held(url)
    for kind, names in (("shard", sorted(before.files)), ("manifest line", sorted(before.lines))):
        for flip in range(FLIPS):
            path = tmp_path / "run" / draw.choice(names)
            stood = flipped(path, draw)
            with pytest.raises(DamagedError, match=path.name):
                _read_all(url)
            assert [
                problem.partition(": ")[0] for problem in problems(Storage(url), Verified())
            ] == [str(path)]
            if flip < 2:
                command = [
                    *SYNTH,
                    "sql",
                    url,
                    f"SELECT count(*) FROM {path.parent.name}_all"
                    if kind == "shard"
                    else "SELECT 1",
                ]
                done = subprocess.run(
                    command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60
                )
                assert done.returncode == 1
                assert f"synth: {path}: damaged" in done.stderr
                assert not done.stdout
            path.write_bytes(stood)
            assert rows(url) == truth if flip == FLIPS - 1 else True
            table.note(
                f"one flipped bit in a committed {kind}",
                before=before.records,
                after=before.records,
                lost=0,
                twice=0,
                mislabelled=0,
                ended="named, and nothing read from it",
                rerun="restored: the rows of an undisturbed run",
            )


@pytest.mark.slow
def test_one_bit_of_a_pack_of_manifest_lines(
    tmp_path: Path, table: FaultsTable, draw: Random, undisturbed: str
) -> None:
    """Opened from an object store, where packs are read; the lines are read instead of what is
    damaged.
    """
    shutil.copytree(undisturbed, tmp_path / "run")
    bucket, url, truth = (
        Storage(f"memory://{tmp_path.name}"),
        str(tmp_path / "run"),
        StoredLedger(undisturbed).state,
    )
    before = held(url)
    for path in (path for path in (tmp_path / "run").rglob("*") if path.is_file()):
        bucket.create(str(path.relative_to(tmp_path / "run")), path.read_bytes())
    names = sorted(path.name for path in (tmp_path / "run" / manifest_checkpoints.FOLDER).iterdir())
    assert names
    assert [*problems(bucket, Verified())] == []
    for _ in range(FLIPS):
        path = tmp_path / "run" / manifest_checkpoints.FOLDER / draw.choice(names)
        name, stood = f"{manifest_checkpoints.FOLDER}/{path.name}", flipped(path, draw)
        bucket.replace(name, path.read_bytes())
        assert StoredLedger(bucket.url).state == truth
        assert StoredLedger(url).state == truth
        assert [
            problem.partition(": is no copy")[0] for problem in problems(bucket, Verified())
        ] == [bucket.path(name)]
        after = held(url)
        path.write_bytes(stood)
        bucket.replace(name, stood)
        table.note(
            "one flipped bit in a pack of manifest lines",
            before=before.records,
            after=after.records,
            lost=before.lost(after),
            twice=0,
            mislabelled=0,
            ended="named by synth verify, and nothing read from it",
            rerun="nothing to do: the lines were read",
        )


def _read_all(url: str) -> None:
    ledger = StoredLedger(url)
    for shard in ledger.state.shards:
        for file in shard.files.values():
            ledger.files.table(file)


@pytest.mark.parametrize("stage", ["rollout", "filter", "export"])
def test_what_is_damaged_and_deleted_is_made_again(
    stage: str, tmp_path: Path, table: FaultsTable, draw: Random
) -> None:
    """What the message says to do where there is no backup."""
    ground = Ground(tmp_path, echoed())
    assert ground.run() == "finished"
    shutil.copytree(ground.url, tmp_path / "undisturbed")
    before, undisturbed = held(ground.url), str(tmp_path / "undisturbed")
    shards = [shard for shard in StoredLedger(ground.url).state.shards if shard.stage == stage]
    lost: set[str] = set()
    if shards:
        shard = draw.choice(shards)
        lost = {file.path for file in shard.files.values()}
        path = Path(ground.url, draw.choice(sorted(lost)))
    else:
        (path,) = Path(ground.url, "datasets", "sft").glob("*.parquet")
    flipped(path, draw)
    path.unlink()
    assert ground.run() == "finished"
    after = held(ground.url)
    assert rows(ground.url) == rows(undisturbed)
    kept = Holding(
        {name: one for name, one in before.files.items() if name not in lost}, before.lines
    )
    table.note(
        "a damaged file deleted, as its message says",
        before=before.records,
        after=after.records,
        lost=kept.lost(after),
        twice=twice(ground.url),
        mislabelled=mislabelled(ground.url, undisturbed),
        ended="named by every command",
        rerun="its slots filled again: the rows of an undisturbed run",
    )


def test_flipped_bits_in_the_journals_of_a_killed_run(
    tmp_path: Path, table: FaultsTable, draw: Random
) -> None:
    with ChatServer(echo_expert, latency_s=0.02) as server:
        truth = Ground(tmp_path / "undisturbed", asked(server.url))
        assert truth.run() == "finished"
        for point in range(3):
            ground = Ground(tmp_path / str(point), asked(server.url))
            process = ground.start()
            while process.poll() is None and journal_lines(ground.state) < 30:
                time.sleep(0.002)
            kill(process)
            journals = sorted(ground.state.glob("journal/*/*.jsonl"))
            assert journals
            for path in (path for path in journals if path.stat().st_size):
                for _ in range(3):
                    flipped(path, draw)
            before = held(ground.url)
            assert ground.run() == "finished"
            after = held(ground.url)
            assert rows(ground.url) == rows(truth.url)
            table.note(
                "flipped bits in the journals of a killed run",
                before=before.records,
                after=after.records,
                lost=before.lost(after),
                twice=twice(ground.url),
                mislabelled=mislabelled(ground.url, truth.url),
                ended="killed",
                rerun="damaged lines named and asked again: the rows of an undisturbed run",
            )
