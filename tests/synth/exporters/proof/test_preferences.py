"""Preferences under templates: no prompt carries loss, all of each side does; what a row or a
template does wrong is found and named.
"""

import re
from pathlib import Path
from typing import Any

import pytest

from synth.exporters.form import Comparison
from synth.exporters.proof.rendered import shared
from tests.synth.exporters.solved import FIND
from tests.synth.exporters.test_training import tiny_model

pytestmark = pytest.mark.slow

PLAIN = """{%- for tool in tools or [] %}{{ tool.function.name }} {% endfor
%}{%- for m in messages %}<{{ m.role }}>{{ m.content }}
{%- for c in m.tool_calls or [] %}{{ c.function | tojson }}{% endfor %}</>{%- endfor %}
{%- if add_generation_prompt %}<assistant>{% endif %}"""
UNHEARD = "what the user said is not rendered"
ASKED: list[dict[str, Any]] = [
    {"role": "system", "content": "Help."},
    {"role": "user", "content": "Where?"},
]


class Words:
    """A tokenizer of runs of letters, and of other characters one by one, whose runs reach over a
    `>`.
    """

    special_tokens_map: dict[str, str] = {}  # noqa: RUF012

    def __call__(self, text: str, **_: Any) -> dict[str, Any]:
        found = [*re.finditer(r">?\w+|\W", text)]
        return {
            "input_ids": [hash(one[0]) for one in found],
            "offset_mapping": [one.span() for one in found],
        }


@pytest.fixture(autouse=True)
def _needs_transformers() -> None:
    pytest.importorskip("transformers", reason="needs the extra: pip install -e '.[train]'")


def said(content: str, *calls: str) -> dict[str, Any]:
    return {"role": "assistant", "content": content} | (
        {
            "tool_calls": [
                {"type": "function", "function": {"name": name, "arguments": {}}} for name in calls
            ]
        }
        if calls
        else {}
    )


def pair(
    chosen: dict[str, Any], rejected: dict[str, Any], prompt: list[dict[str, Any]] = ASKED
) -> Comparison:
    return Comparison(prompt, (chosen, rejected), [FIND])


def problems(row: Comparison, source: str = PLAIN, tokenizer: Any = None) -> list[str]:
    from synth.exporters.proof.masks import side_problems
    from synth.exporters.template import MaskTemplate

    return list(side_problems(row, MaskTemplate("test", source, tokenizer)))


def test_a_right_pair_under_a_right_template_has_no_problem() -> None:
    assert problems(pair(said("", "find"), said("No."))) == []


@pytest.mark.parametrize(
    ("row", "source", "problem"),
    [
        (pair(said("a"), said("")), PLAIN, "a side says nothing"),
        (
            pair(said("a"), said("a") | {"reasoning_content": "b"}),
            PLAIN,
            "chosen and rejected are rendered alike",
        ),
        (
            pair(said("", "find"), said("a")),
            PLAIN.replace("{{ c.function | tojson }}", ""),
            "calls are not rendered",
        ),
        (
            pair(said("a"), said("b")),
            PLAIN.replace("{{ tool.function.name }}", ""),
            "tool schemas are not rendered",
        ),
        (
            pair(said("a"), said("b")),
            PLAIN.replace("{{ m.content }}", "{{ m.content if m.role != 'user' }}"),
            UNHEARD,
        ),
        (
            pair(said("a"), said("b")),
            PLAIN.replace("<{{ m.role }}>", "<{{ m.role }}>{{ '(last)' if loop.last }}"),
            "what stands before the turn is rendered otherwise once it is there, and carries loss",
        ),
        (
            pair(said("a"), said("b")),
            PLAIN.replace("<assistant>{% endif %}", "<assistant><think></think>{% endif %}"),
            "the opening of the turn is rendered otherwise once it is there: the trainer leaves "
            "it out",
        ),
    ],
)
def test_what_a_row_or_a_template_does_wrong_is_named(
    row: Comparison, source: str, problem: str
) -> None:
    assert problem in problems(row, source)


def test_a_token_that_reaches_from_the_prompt_into_a_turn_is_named() -> None:
    assert "a token is half the prompt's, half the turn's" in problems(
        pair(said("yes"), said("no")), tokenizer=Words()
    )
    assert problems(pair(said("(yes"), said("(no")), tokenizer=Words()) == []


def test_a_labelled_turn_has_one_side() -> None:
    assert problems(Comparison(ASKED, (said("yes"),), [])) == []
    assert problems(Comparison(ASKED, (said(""),), [])) == ["a side says nothing"]


def test_what_two_begin_with_alike_is_counted() -> None:
    assert [shared("abc", "abd"), shared("ab", "abc"), shared("", "a"), shared([1, 2], [2])] == [
        2,
        2,
        0,
        0,
    ]


def test_the_weighed_tokens_are_those_that_trls_trainer_gives_a_completion_mask(
    tmp_path: Path,
) -> None:
    pytest.importorskip("trl", reason="needs the extra: pip install -e '.[train]'")
    from datasets import Dataset
    from transformers import AutoTokenizer
    from trl import DPOTrainer

    from synth.exporters.proof.masks import weighed
    from synth.exporters.template import served_template

    tiny_model(tmp_path / "model", ["Where? Help. find it there"])
    template = served_template(str(tmp_path / "model"))
    row = pair(said("Look.", "find"), said("It is there."))
    assert problems(row, template.source, template.tokenizer) == []
    rows = Dataset.from_list(
        [{"prompt": row.prompt, "chosen": [row.sides[0]], "rejected": [row.sides[1]]}],
        on_mixed_types="use_json",
    )
    prepare: Any = DPOTrainer._prepare_dataset
    asked_of = type(
        "Trainer", (), {"_tokenizer": AutoTokenizer.from_pretrained(tmp_path / "model")}
    )()
    args = type(
        "Args", (), {"dataset_num_proc": None, "max_length": None, "truncation_mode": "keep_start"}
    )()
    (made,) = prepare(asked_of, rows, asked_of._tokenizer, args, "train")
    asked = template.text(row.prompt, [], generation_prompt=True)
    for side, column in zip(row.sides, ("chosen_ids", "rejected_ids"), strict=True):
        text = template.text([*row.prompt, side], [])
        assert weighed(asked, text, template) == len(made[column]) > 0
        assert template.tokenizer.decode(made[column]) == text[len(asked) :]
