"""Libraries and kinds come to their shares; what was tried is kept through a kill."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec

from synth.envs.repo.broken import BrokenTree
from synth.envs.repo.making.pool.files import Tried, TriedFile, write_pool, write_task
from synth.envs.repo.making.pool.grading import beyond, take_out
from synth.envs.repo.making.pool.lanes import Lane, Lanes
from synth.envs.repo.pool import Library, RepoTask, read_pool


def library(name: str) -> Library:
    return Library(name=name, engine="python", digest=name, tests={}, source=(), protected=())


def drawn(count: int) -> Iterator[BrokenTree]:
    return iter([BrokenTree(kind="k", edits={"a.py": str(at)}) for at in range(count)])


def lane(kind: str, wanted: float, count: int = 100, *, late: bool = False) -> Lane:
    return Lane(library("lib"), kind, wanted, drawn(count), late=late)


def played(lanes: Lanes, tasks: int, *, refused: str = "") -> list[str]:
    """The kinds of the edits that are drawn, where all make tasks but those of one kind."""
    found, kept = [], 0
    while kept < tasks and (one := lanes.next()) is not None:
        which, _ = one
        found.append(which.kind)
        kept += which.kind != refused
        which.ended(kept=which.kind != refused)
    return found


def test_kinds_come_to_their_shares() -> None:
    lanes = Lanes([lane("a", 6), lane("b", 3), lane("c", 1)])
    assert Counter(played(lanes, 10)) == {"a": 6, "b": 3, "c": 1}


def test_others_fill_the_place_of_a_kind_that_ends() -> None:
    lanes = Lanes([lane("a", 5), lane("b", 5, count=2)])
    assert Counter(played(lanes, 10)) == {"a": 8, "b": 2}


def test_a_kind_that_makes_no_task_is_left_after_thirty_tries() -> None:
    lanes = Lanes([lane("a", 5, count=20), lane("b", 1)])
    assert Counter(played(lanes, 10, refused="b")) == {"a": 10, "b": 30}


def test_late_kinds_wait_until_nothing_else_is_under_way() -> None:
    lanes = Lanes([lane("a", 2), lane("late", 2, late=True)])
    first, second = lanes.next(), lanes.next()
    assert first is not None
    assert second is not None
    assert lanes.next() is None
    first[0].ended(kept=True)
    assert lanes.next() is None
    second[0].ended(kept=True)
    assert played(lanes, 2) == ["late", "late"]


def test_what_a_late_kind_does_not_make_the_others_do() -> None:
    lanes = Lanes([lane("a", 2), lane("late", 2, count=0, late=True)])
    assert played(lanes, 4) == ["a"] * 4


def test_a_line_that_a_kill_tore_is_dropped_and_the_others_stay(tmp_path: Path) -> None:
    file = TriedFile(tmp_path)
    file.add(Tried("k1", task="t1"))
    file.add(Tried("k2", reason="survives"))
    place = tmp_path / "tried.jsonl"
    place.write_bytes(place.read_bytes()[:-5])
    again = TriedFile(tmp_path)
    assert again.known == {"k1": Tried("k1", task="t1")}
    again.add(Tried("k3", task="t3"))
    assert set(TriedFile(tmp_path).known) == {"k1", "k3"}


def graded(name: str, tier: int) -> RepoTask:
    fields = {"library": "lib", "goal": name, "failing": ("t",), "test_files": ("t.py",)}
    task = RepoTask.identified(kind="k", edits={"a.py": name}, **fields)
    return msgspec.structs.replace(task, tier=tier)


def test_of_what_a_bot_mends_a_fifth_of_the_pool_stays() -> None:
    """Eight hard ones leave room for two: two of ten are a fifth."""
    easy = [graded(f"easy{at}", 0) for at in range(4)]
    hard = [graded(f"hard{at}", 1) for at in range(8)]
    assert list(beyond([*easy, *hard], 0.2)) == [easy[2].id, easy[3].id]
    assert list(beyond([*easy, *hard], 0)) == [one.id for one in easy]
    assert list(beyond([*easy, *hard], 1)) == []


def test_what_was_taken_out_does_not_come_back(tmp_path: Path) -> None:
    easy, hard = graded("easy", 0), graded("hard", 1)
    for task in (easy, hard):
        write_task(tmp_path, task)
    pool = write_pool(tmp_path, [library("lib")], [easy.id, hard.id])
    file = TriedFile(tmp_path)
    file.add(Tried("k1", task=easy.id))
    take_out(tmp_path, pool, {easy.id: "a bot mends it"})
    assert read_pool(tmp_path).tasks == (hard.id,)
    assert TriedFile(tmp_path).known == {"k1": Tried("k1", reason="a bot mends it")}
