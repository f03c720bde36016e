"""Tokens are counted once per distinct message."""

from synth.exporters import template as counting
from synth.exporters.template import MaskTemplate


class Letters:
    """A tokenizer of letters that knows what it was given."""

    def __init__(self) -> None:
        self.given: list[str] = []

    def __call__(self, text: str, **_: object) -> dict[str, list[int]]:
        self.given.append(text)
        return {"input_ids": [ord(letter) for letter in text]}


def test_a_text_that_stands_in_many_messages_is_tokenized_once() -> None:
    letters = Letters()
    template = MaskTemplate("letters", "", letters)
    said = ["Hello.", "find it", "Hello.", "", "find it", "Hello.", "\ud800"]
    assert [template.count(text) for text in said] == [6, 7, 6, 0, 7, 6, 1]
    assert letters.given == ["Hello.", "find it", "", "\ud800"]


def test_without_a_tokenizer_nothing_is_counted() -> None:
    assert MaskTemplate("none", "", None).count("Hello.") is None


def test_what_is_remembered_is_bounded() -> None:
    template = MaskTemplate("letters", "", Letters())
    template.counted.update({at.to_bytes(16, "big"): 1 for at in range(counting.MOST_COUNTED)})
    assert template.count("Hello.") == 6
    assert len(template.counted) == 1
