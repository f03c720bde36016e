"""Objects that stand one after the other in a file, and answers that stand beside a prompt."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.synth.importers.imports import read, read_lines

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
