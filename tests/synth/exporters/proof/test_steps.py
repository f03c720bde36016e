"""Steps as a step trainer reads them: a label on the last token of each, texts as the student's
template renders them.
"""

from typing import Any

import msgspec
import pytest

from synth.exporters.form import Steps
from synth.exporters.proof.masks import text_problems

PROMPT: list[dict[str, Any]] = [{"role": "user", "content": "Where?"}]
STEP: list[dict[str, Any]] = [{"role": "assistant", "content": "There."}]
RIGHT = Steps("<user>Where?</><assistant>", ("There.</>",), (True,), "\n", PROMPT, STEP, [])


class Letters:
    """A tokenizer of characters that may have no token for line breaks, or one for two letters."""

    special_tokens_map: dict[str, str] = {}  # noqa: RUF012

    def __init__(self, without: str = "", joined: str = "") -> None:
        self.without, self.joined = without, joined

    def __call__(self, text: str, **_: Any) -> dict[str, Any]:
        spans, at = [], 0
        while at < len(text):
            end = at + (2 if self.joined and text.startswith(self.joined, at) else 1)
            if text[at] not in self.without:
                spans.append((at, end))
            at = end
        return {
            "input_ids": [hash(text[start:end]) for start, end in spans],
            "offset_mapping": spans,
        }


def changed(**fields: Any) -> Steps:
    return msgspec.structs.replace(RIGHT, **fields)


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        (changed(labels=()), "steps and labels differ in number"),
        (changed(labels=(None,)), "a step without a label"),
        (changed(steps=(" ",)), "an empty text"),
        (changed(prompt=""), "an empty text"),
        (changed(steps=("Here.</>",)), "text beside calls is not rendered"),
    ],
)
def test_what_is_wrong_with_a_row_of_steps_is_named(row: Steps, problem: str) -> None:
    assert problem in list(text_problems(row))
    assert list(text_problems(RIGHT)) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("row", "tokenizer", "found"),
    [
        (RIGHT, None, []),
        (RIGHT, Letters(), []),
        (changed(separator=""), Letters(without="\n"), []),
        (
            RIGHT,
            Letters(without="\n"),
            ["the label does not stand on the separator: it has no token"],
        ),
        (RIGHT, Letters(joined=">T"), ["a token is half the prompt's, half the step's"]),
        (
            changed(prompt="<user>Who?</><assistant>"),
            None,
            ["texts are not what the student's template renders"],
        ),
    ],
)
def test_the_label_stands_on_the_last_token_of_what_the_template_renders(
    row: Steps, tokenizer: Any, found: list[str]
) -> None:
    pytest.importorskip("transformers", reason="needs the extra: pip install -e '.[train]'")
    from synth.exporters.proof.masks import step_problems
    from synth.exporters.template import MaskTemplate
    from tests.synth.exporters.proof.test_preferences import PLAIN

    assert list(step_problems(row, MaskTemplate("test", PLAIN, tokenizer))) == found
