"""`synth verify`: one line per damaged file, and an exit code that a script can trust."""

from pathlib import Path

from click.testing import CliRunner

from synth.cli.verify import verify
from synth.ledger import StageRef, StoredLedger
from synth.schemas.errors import DamagedError
from tests.trajectories import make_trajectory


def test_what_is_damaged_is_named_and_the_command_fails(tmp_path: Path) -> None:
    ledger = StoredLedger(str(tmp_path), create=True)
    ledger.commit(StageRef("rollout", "key1"), trajectories=[make_trajectory("x")])
    sound = CliRunner().invoke(verify, [str(tmp_path)])
    assert sound.exit_code == 0
    assert sound.stdout.startswith("2 manifest lines, 0 packs of them, 2 shard files (")
    read, live, head = sound.stdout.splitlines()
    assert read.endswith(" bytes), 0 other files (0 bytes) read: all as they were committed")
    assert live.startswith("not covered  workers, claims")
    assert head.startswith(
        f"head         {head.split()[1].rstrip(':')}: note it down; --expect "
        f"{head.split()[1].rstrip(':')} tells later"
    )
    (shard,) = (tmp_path / "turns").iterdir()
    shard.write_bytes(b"x")
    damaged = CliRunner().invoke(verify, [str(tmp_path)])
    assert isinstance(damaged.exception, DamagedError)
    assert str(damaged.exception).endswith(" bytes) read: 1 damaged, missing or unfinished")
    assert damaged.stdout.startswith(
        f"{shard}: damaged (its bytes are not those that were committed)"
    )
