"""A bit, a byte, a file: whatever is changed in a finished run is named by verify, and an untouched
one is left in peace.
"""

from pathlib import Path
from random import Random

import pytest
from click.testing import CliRunner

from synth.cli.verify import verify
from synth.schemas.errors import DamagedError
from tests.attack.finished_run import finish, flip, found, told, tree, watched

FLIPS = 240


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return finish(tmp_path_factory.mktemp("finished") / "run")


def last_line(run: Path) -> Path:
    return max(path for path in (run / "manifest").iterdir() if path.name.isdecimal())


def names(problem: str, path: Path) -> bool:
    return problem.startswith(f"{path}: ")


def is_pack(path: Path) -> bool:
    return path.parent.name == "packs"


def test_all_kinds_of_files_are_there_to_be_attacked(run: Path) -> None:
    kinds = {str(path.relative_to(run)).partition("/")[0] for path in watched(run)}
    assert {
        "manifest",
        "datasets",
        "trajectories",
        "turns",
        "tasks",
        "decisions",
        "flow.yaml",
        "cost.json",
        "report.html",
    } <= kinds
    assert any(is_pack(path) for path in watched(run))
    assert {path.name for path in (run / "datasets/sft").iterdir()} >= {
        "README.md",
        "manifest.json",
        "SHA256SUMS",
    }


def test_a_flipped_bit_anywhere_is_named_and_nothing_else_is(run: Path) -> None:
    draw, files = Random(20), watched(run)
    for number in range(FLIPS):
        path = files[number] if number < len(files) else draw.choice(files)
        before = flip(path, draw)
        said = found(run)
        assert len(said) == 1, (path, said)
        assert names(said[0], path)
        path.write_bytes(before)
    assert found(run) == []


def test_every_bit_of_the_first_bytes_and_of_the_last_ones_of_the_last_line(run: Path) -> None:
    path = last_line(run)
    before = path.read_bytes()
    for at in [*range(0, 36), *range(len(before) - 8, len(before))]:
        for bit in range(8):
            path.write_bytes(before[:at] + bytes([before[at] ^ 1 << bit]) + before[at + 1 :])
            (said,) = found(run)
            assert names(said, path)
    path.write_bytes(before)


@pytest.mark.parametrize("seed", range(3))
def test_cut_appended_emptied_doubled(run: Path, seed: int) -> None:
    draw = Random(seed)
    for path in watched(run):
        before = path.read_bytes()
        for changed in (
            before[: draw.randrange(len(before))],
            before + draw.choice([b"\n", b"\0", b" ", b"x" * 9]),
            b"",
            before * 2,
        ):
            path.write_bytes(changed)
            assert any(names(said, path) for said in found(run)), path
        path.write_bytes(before)
    assert found(run) == []


def test_every_file_deleted_or_renamed_but_packs_which_may_be(run: Path) -> None:
    """Without its last line a run is told by the file that no line names any more."""
    last = last_line(run)
    for path in watched(run):
        aside = path.with_name(f"{path.name}.moved")
        path.rename(aside)
        said = found(run)
        assert any(names(one, path) or names(one, aside) for one in said), path
        before = aside.read_bytes()
        aside.unlink()
        if path == last:
            assert [one for one in found(run) if names(one, run / "cost.json")]
        elif not is_pack(path):
            assert [one for one in found(run) if names(one, path)], path
        path.write_bytes(before)
    assert found(run) == []


def test_files_that_change_places_are_both_named_with_what_they_hold(run: Path) -> None:
    draw, datasets = Random(7), [path for path in watched(run) if "datasets" in path.parts]
    lines = [path for path in watched(run) if path.parent.name == "manifest"]
    shards = [
        path for path in watched(run) if path.suffix == ".parquet" and "datasets" not in path.parts
    ]
    for files in (datasets, lines, shards, watched(run)):
        for _ in range(10):
            one, other = draw.sample(files, 2)
            held = one.read_bytes(), other.read_bytes()
            if held[0] == held[1]:
                continue
            one.write_bytes(held[1])
            other.write_bytes(held[0])
            said = told(run)
            for path in (one, other):
                assert any(f"{path}: " in problem for problem in said) or is_pack(path), (
                    one,
                    other,
                    said,
                )
            one.write_bytes(held[0])
            other.write_bytes(held[1])
    card, other = run / "datasets/sft/README.md", run / "datasets/rl/README.md"
    held = card.read_bytes()
    card.write_bytes(other.read_bytes())
    assert found(run) == [
        f"{card}: holds what belongs at datasets/rl/README.md; run the flow 'echo' again, which "
        "writes it anew",
    ]
    card.write_bytes(held)


def test_a_line_in_the_place_of_another_is_named_even_at_the_end(run: Path) -> None:
    """Each is whole in itself: what it follows tells that it does not belong there."""
    lines = sorted(path for path in (run / "manifest").iterdir() if path.name.isdecimal())
    for path in lines:
        before = path.read_bytes()
        for other in lines:
            if other != path:
                path.write_bytes(other.read_bytes())
                assert any(names(said, path) for said in found(run)), (path, other)
        path.write_bytes(before)


def test_the_command_fails_in_one_line_and_writes_nothing(run: Path) -> None:
    before = tree(run)
    sound = CliRunner().invoke(verify, [str(run)])
    assert (sound.exit_code, tree(run)) == (0, before)
    (shard,) = (run / "datasets/sft").glob("*.parquet")
    held = flip(shard, Random(1))
    damaged = tree(run)
    done = CliRunner().invoke(verify, [str(run)])
    assert isinstance(done.exception, DamagedError)
    assert names(done.stdout.splitlines()[0], shard)
    assert tree(run) == damaged
    shard.write_bytes(held)


def test_lines_cut_off_the_end_and_all_that_they_named_are_told_by_the_head_alone(
    run: Path,
) -> None:
    def verified(*options: str) -> str:
        done = CliRunner().invoke(verify, [str(run), *options])
        return done.stdout if done.exit_code == 0 else str(done.exception)

    head = verified().splitlines()[-1].split()[1].rstrip(":")
    assert "expected     the run that was noted\n" in verified("--expect", head)
    kept = {path: path.read_bytes() for path in (last_line(run), run / "cost.json")}
    for path in kept:
        path.unlink()
    assert "all as they were committed" in verified(), (
        "an earlier state of a run is whole in itself"
    )
    assert "no line of its manifest has this head" in verified("--expect", head)
    earlier = verified().splitlines()[-1].split()[1].rstrip(":")
    for path, held in kept.items():
        path.write_bytes(held)
    assert "expected     the run that was noted, gone on by 1 lines" in verified(
        "--expect", earlier
    )
