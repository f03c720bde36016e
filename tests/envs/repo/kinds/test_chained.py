"""Three tasks on one tree."""

from pathlib import Path

import msgspec

from synth.envs.repo.kinds.chained import chain_of, chained
from synth.envs.repo.pool import RepoTask
from tests.envs.repo.kinds.mini_library import broken_by

TEXT = "A = 1\n\nB = 2\n\nC = 3\n"


def task(old: str, new: str, kind: str, **fields: object) -> RepoTask:
    edits = {"mini.py": TEXT.replace(old, new)}
    told: dict[str, object] = {"edits": edits, "goal": f"{old} is wanted.\n\nMend it.", **fields}
    return RepoTask.identified(
        library="mini", kind=kind, failing=("t",), test_files=("test_a.py",), **told
    )


ONE, TWO, THREE = task("A = 1", "A = 9", "x"), task("B = 2", "B = 9", "y"), task("C = 3", "", "x")


def test_all_edits_stand_in_one_tree(tmp_path: Path) -> None:
    (tmp_path / "mini.py").write_text(TEXT)
    made = chain_of(tmp_path, [ONE, TWO, THREE])
    assert made is not None
    assert made.edits == {"mini.py": "A = 9\n\nB = 9\n\n\n"}
    assert made.steps == (ONE.id, TWO.id, THREE.id)
    assert made.sites == 3
    assert "1. A = 1 is wanted.\n\n2. B = 2 is wanted.\n\n3. C = 3 is wanted." in made.hint
    assert "Mend it." not in made.hint


def test_tasks_of_the_same_lines_are_no_chain(tmp_path: Path) -> None:
    (tmp_path / "mini.py").write_text(TEXT)
    assert chain_of(tmp_path, [ONE, task("A = 1", "A = 8", "y"), TWO]) is None


def test_hidden_tests_come_along(tmp_path: Path) -> None:
    (tmp_path / "mini.py").write_text(TEXT)
    hidden = task("B = 2", "B = 9", "y", hidden={"test_b.py": "b"})
    made = chain_of(tmp_path, [ONE, hidden, THREE])
    assert made is not None
    assert made.hidden == {"test_b.py": "b"}


def test_a_chain_is_made_of_tasks_that_the_pool_has(tmp_path: Path) -> None:
    (tmp_path / "tasks").mkdir()
    for one in (ONE, TWO, THREE):
        (tmp_path / "tasks" / f"{one.id}.json").write_bytes(msgspec.json.encode(one))
    (made,) = broken_by(chained, tmp_path, {"mini.py": TEXT})
    assert sorted(made.steps) == sorted([ONE.id, TWO.id, THREE.id])
