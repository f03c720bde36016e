"""Objects that stand one after the other in a file, and answers that stand beside a prompt."""

import json
from pathlib import Path
from typing import Any

import pytest

from synth import import_trajectories
from synth.importers.records import Imported, ImportSettings, Rejection
from tests.synth.importers.imports import imported, read, read_lines

HI = [{"role": "user", "content": "hi"}]


def chat(words: str) -> dict[str, Any]:
    """A question, and an answer of these words."""
    return {"messages": [*HI, {"role": "assistant", "content": words}]}


@pytest.mark.parametrize("indent", [4, None])
@pytest.mark.parametrize("between", ["\n", "", " \n\n"])
def test_objects_one_after_the_other_are_a_record_each(
    tmp_path: Path, indent: int | None, between: str
) -> None:
    told = [chat(words) for words in ("one", "two", "three")]
    place = tmp_path / "log.json"
    place.write_text(between.join(json.dumps(one, indent=indent) for one in told) + "\n")
    found, refused = read(place)
    assert refused == []
    assert [one.trajectory.turns[-1].content for one in found] == ["one", "two", "three"]


def test_what_breaks_after_some_objects_is_one_line_and_the_others_stay(tmp_path: Path) -> None:
    place = tmp_path / "log.json"
    whole = json.dumps(chat("one"), indent=4)
    place.write_text(f'{whole}\n{whole.replace("one", "two")}\n{{"messages": [')
    found, refused = read(place)
    assert [one.trajectory.turns[-1].content for one in found] == ["one", "two"]
    assert [one.reason for one in refused] == ["not_json"]


def test_other_text_after_an_object_is_refused(tmp_path: Path) -> None:
    place = tmp_path / "log.json"
    place.write_text(json.dumps(chat("one"), indent=4) + "\nand so on")
    found, refused = read(place)
    assert found == []
    assert [one.reason for one in refused] == ["not_json"]


@pytest.mark.parametrize(
    ("prompt", "answer"),
    [(HI, "hello"), (HI, [{"role": "assistant", "content": "hello"}]), ("hi", "hello")],
)
def test_a_prompt_is_answered_by_its_response(tmp_path: Path, prompt: Any, answer: Any) -> None:
    told = {"prompt": prompt, "response": answer}
    found, refused = read_lines(tmp_path, [told, told | {"completion": None}])
    assert refused == []
    assert [one.trajectory.turns[-1].content for one in found] == ["hello", "hello"]


@pytest.mark.parametrize("at", [0, 1, 2])
@pytest.mark.parametrize("indent", [4, None])
def test_an_object_that_is_too_long_is_one_line_and_the_others_stay(
    tmp_path: Path, at: int, indent: int | None
) -> None:
    # longer than what is read at once, with what looks like ends and escapes within its text
    long = chat(r"}{ \\ \" ]é" * 120_000)
    told = [chat("one"), chat("two")]
    told.insert(at, long)
    place = tmp_path / "log.json"
    place.write_text("\n".join(json.dumps(one, indent=indent, ensure_ascii=False) for one in told))
    found, refused = [], []
    for one in imported([place], settings=ImportSettings(max_record_bytes=10_000)):
        if isinstance(one, Imported):
            found.append(one.trajectory.turns[-1].content)
        elif isinstance(one, Rejection):
            refused.append((one.reason, one.locator))
    assert found == ["one", "two"]
    place_of_long = f"line{at + 1}" if indent is None else f"object{at}"
    assert refused == [("record_too_large", place_of_long)]


def test_one_object_alone_that_is_too_long_is_refused_as_a_file(tmp_path: Path) -> None:
    place = tmp_path / "log.json"
    place.write_text(json.dumps(chat("x" * 20_000), indent=4))
    (bad,) = imported([place], settings=ImportSettings(max_record_bytes=10_000))
    assert isinstance(bad, Rejection)
    assert (bad.reason, bad.locator) == ("record_too_large", "file")


def test_how_objects_lie_in_a_file_is_told(tmp_path: Path) -> None:
    place = tmp_path / "log.json"
    place.write_text("\n".join(json.dumps(chat(one), indent=4) for one in ("one", "two")))
    tally = import_trajectories(place, into=tmp_path / "run", quiet=True)
    assert [*tally.seen] == ["openai_messages: objects one after the other; object with 'messages'"]
