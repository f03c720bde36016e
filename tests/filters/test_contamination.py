"""The filter `contamination`: a benchmark's own tasks, and texts that repeat its documents."""

import gzip
import json
from pathlib import Path

import pytest

from synth.filters.contamination import FILTER
from synth.schemas.errors import ConfigError
from synth.schemas.task import Origin
from tests.filters.corpora import cases, chat, judged
from tests.trajectories import make_task

QUESTION = (
    "How many of the seven bridges over the old river in the northern town were built before "
    "the great fire of 1666?"
)
WORDS = QUESTION.split()


def test_thirteen_words_of_a_document_are_an_overlap_and_twelve_are_none(tmp_path: Path) -> None:
    (tmp_path / "bench.jsonl").write_text(json.dumps({"id": 1, "question": QUESTION}) + "\n")
    rows = [
        chat("thirteen", f"so {' '.join(WORDS[4:17]).upper()}, right", task_id="a"),
        chat("twelve", f"so {' '.join(WORDS[4:16])} right", task_id="b"),
        chat("whole", "no", asked=QUESTION, task_id="c"),
        chat("other", "nothing of the kind", task_id="d"),
    ]
    found = judged(FILTER, cases(rows), benchmarks={"bridges": (str(tmp_path),)})
    assert {i: (v.keep, v.reason) for i, v in found.items()} == {
        "thirteen": (False, "overlap"),
        "twelve": (True, "clean"),
        "whole": (False, "task_identity"),
        "other": (True, "clean"),
    }
    assert (found["thirteen"].score, found["thirteen"].detail) == (1.0, {"benchmark": "bridges"})
    assert (
        judged(FILTER, cases(rows), benchmarks={"bridges": (str(tmp_path),)}, least=2)[
            "thirteen"
        ].keep
        is True
    )
    assert (
        judged(FILTER, cases(rows), benchmarks={"bridges": (str(tmp_path),)}, texts="task")[
            "thirteen"
        ].keep
        is True
    )


def test_the_ledgers_own_stamps_hold_for_the_task_its_words_and_its_descendants() -> None:
    stamped = chat("stamped", "a", asked=QUESTION, task_id="t", benchmark="bridges/test")
    retry = chat("retry", "b", asked="x", task_id="t", parent_id="stamped")
    reworded = chat("derived", "c", asked="y", task_id="made", parent_id="retry")
    quoting = chat("quoting", QUESTION, asked="tell me", task_id="u")
    free = chat("free", "d", asked="z", task_id="v")
    rows = cases([retry, reworded, quoting, free, stamped])
    assert {i: v.reason for i, v in judged(FILTER, rows).items()} == {
        "stamped": "benchmark",
        "retry": "benchmark",
        "derived": "benchmark",
        "quoting": "overlap",
        "free": "clean",
    }
    allowed = judged(FILTER, rows, allow=("bridges/test",))
    assert [allowed[i].reason for i in ("stamped", "retry", "quoting")] == [
        "allowed",
        "allowed",
        "nothing_to_compare_with",
    ]


def test_a_task_made_of_a_stamped_one_is_the_benchmarks() -> None:
    parent = make_task(goal="first", benchmark="bridges/test", origin=Origin.IMPORT)
    child = make_task(goal="second", parent=parent.task_id, origin=Origin.REVERSE)
    tasks = {parent.task_id: parent, child.task_id: child}
    rows = [chat("one", "a", task_id=parent.task_id), chat("two", "b", task_id=child.task_id)]
    assert [v.reason for v in judged(FILTER, cases(rows, tasks)).values()] == [
        "benchmark",
        "benchmark",
    ]


def test_set_phrases_of_many_documents_do_not_count(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "bench.json.gz", "wt") as file:
        json.dump([f"{QUESTION} number {at}" for at in range(11)], file)
    row = cases([chat("quoting", QUESTION)])
    settings = {"benchmarks": {"bridges": (str(tmp_path / "bench.json.gz"),)}}
    assert judged(FILTER, row, **settings)["quoting"].reason == "clean"
    assert judged(FILTER, row, common=11, **settings)["quoting"].reason == "overlap"


def test_instructions_that_stand_before_all_tasks_of_a_benchmark_make_no_task() -> None:
    shown = "Solve the task with the tools below and answer in one sentence."
    stamped = [
        chat(f"s{at}", "x", asked=shown, task_id=f"t{at}", benchmark="bridges/test")
        for at in range(11)
    ]
    mine = chat("mine", "y", asked=shown, task_id="mine")
    assert judged(FILTER, cases([*stamped, mine]))["mine"].reason == "clean"
    assert judged(FILTER, cases([*stamped[:10], mine]))["mine"].reason == "task_identity"


def test_documents_shorter_than_thirteen_words_count_as_a_whole_from_eight_words_on(
    tmp_path: Path,
) -> None:
    (tmp_path / "a.txt").write_text("Name the capital of the country of bridges.")
    (tmp_path / "b.txt").write_text("Hello there, friend.")
    rows = [
        chat("quoted", "they ask: name the capital of the country of bridges, so", task_id="a"),
        chat("greeting", "x", asked="Hello there, friend.", task_id="b"),
    ]
    found = judged(FILTER, cases(rows), benchmarks={"bridges": (str(tmp_path),)})
    assert [v.reason for v in found.values()] == ["overlap", "clean"]


def test_without_anything_to_compare_with_it_is_undefined_and_a_missing_file_is_told() -> None:
    assert judged(FILTER, cases([chat("a", "b")]))["a"].keep is None
    with pytest.raises(ConfigError, match=r"benchmarks\.bridges: /nowhere holds no"):
        judged(FILTER, cases([chat("a", "b")]), benchmarks={"bridges": ("/nowhere",)})


DOCUMENT = (
    "You bought a blender and a set of towels. Send back the towels, keep the blender, and have "
    "the money put on your gift card."
)
AGAIN = (
    "From a purchase of yours the towels should be returned and the money put on the gift card, "
    "while the blender stays with you."
)
APART = "Please find out which lamp is the brightest, and whether it can be dimmed by a remote."


def test_a_task_in_other_words_is_a_paraphrase_unless_meaning_is_off(tmp_path: Path) -> None:
    (tmp_path / "bench.jsonl").write_text(json.dumps({"task": DOCUMENT}) + "\n")
    rows = [
        chat("again", "yes", asked=AGAIN, task_id="a"),
        chat("apart", "yes", asked=APART, task_id="b"),
        chat("quoted", AGAIN, asked=APART, task_id="c"),
    ]
    given = {"benchmarks": {"shop": (str(tmp_path),)}}
    found = judged(FILTER, cases(rows), **given)
    assert {i: v.reason for i, v in found.items()} == {
        "again": "paraphrase",
        "apart": "clean",
        "quoted": "clean",  # what an agent says is compared word by word only
    }
    assert found["again"].detail == {"benchmark": "shop"}
    assert judged(FILTER, cases(rows), **given, meaning=None)["again"].reason == "clean"


def test_a_stamped_tasks_words_are_found_again_in_another_task() -> None:
    stamped = chat("stamped", "a", asked=DOCUMENT, task_id="t", benchmark="shop/test")
    again = chat("again", "b", asked=AGAIN, task_id="u")
    found = judged(FILTER, cases([stamped, again]))
    assert (found["again"].reason, found["again"].detail) == (
        "paraphrase",
        {"benchmark": "shop/test"},
    )
    allowed = judged(FILTER, cases([stamped, again]), allow=("shop/test",))
    assert allowed["again"].reason == "nothing_to_compare_with"
