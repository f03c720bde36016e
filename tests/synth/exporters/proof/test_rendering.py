"""The mask under real templates: what is wrong with a row or a template is found and named; right
ones pass token by token.
"""

from pathlib import Path
from typing import Any

import pytest

from synth.exporters.form import Chat
from synth.exporters.forms.trl import SFT
from synth.exporters.kinds.sft_rows import sft_row
from synth.schemas.errors import ConfigError
from synth.schemas.trajectory import Turn
from tests.synth.exporters.solved import FIND, SHIP, call, result, trajectory
from tests.synth.exporters.test_training import tiny_model

pytestmark = pytest.mark.slow

MARKED = """{%- for tool in tools or [] %}{{ tool.function.name }} {% endfor
%}{%- for m in messages %}<{{ m.role }}>
{%- if m.role == 'assistant' %}{% generation %}{{ m.content }}{% for c in m.tool_calls or []
%}{{ c.function | tojson }}{% endfor %}\
{% endgeneration %}{% else %}{{ m.content }}{% endif %}</>{%- endfor
%}{% if add_generation_prompt %}<assistant>{% endif %}"""
FORGETFUL = MARKED.replace(
    "{{ m.content }}{% for c",
    "{% if loop.last %}{{ m.content }}{% else %}(short){% endif %}{% for c",
)


@pytest.fixture(autouse=True)
def _needs_transformers() -> None:
    pytest.importorskip("transformers", reason="needs the extra: pip install -e '.[train]'")


def chat(**fields: Any) -> Chat:
    row = sft_row(trajectory(**fields), SFT)
    messages = [message | {"content": message["content"] or ""} for message in row.messages]
    return Chat(messages, list(row.trajectory.tools), row.trained)


def problems(found: Chat, source: str, *, by_turn: bool = False) -> list[str]:
    from synth.exporters.proof.masks import mask_problems
    from synth.exporters.template import MaskTemplate

    return list(mask_problems(found, MaskTemplate("test", source, None), by_turn=by_turn))


def test_a_right_row_under_a_right_template_has_no_problem() -> None:
    assert problems(chat(), MARKED) == []


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        (MARKED.replace("{{ c.function | tojson }}", ""), "calls are not rendered"),
        (MARKED.replace("{{ tool.function.name }}", ""), "tool schemas are not rendered"),
        (
            MARKED.replace("{% else %}{{ m.content }}{% endif %}</>", "{% endif %}</>"),
            "what the user said carries loss, or is not rendered",
        ),
        (FORGETFUL, "text beside calls is not rendered"),
        (
            MARKED.replace("{{ m.content }}{% for", "{{ m.content or none }}{% for"),
            "an empty value is rendered as the word None",
        ),
    ],
)
def test_what_a_template_does_wrong_is_named(source: str, problem: str) -> None:
    turns = (
        Turn(
            index=0,
            content="Let me look.",
            tool_calls=(call('{"q": 7}'),),
            observations=(result(),),
        ),
        *trajectory().turns[:1],
    )
    again = Turn(index=1, tool_calls=(call('{"q": 8}', "c2"),), observations=(result("row", "c2"),))
    assert problem in problems(
        chat(turns=(turns[0], again, Turn(index=2, content="Here."))), source
    )


def test_a_turn_without_loss_is_found_where_the_consumer_trains_on_all() -> None:
    masked = chat(
        turns=(Turn(index=0, content="wrong", injected="mistake"), Turn(index=1, content="right"))
    )
    assert problems(masked, MARKED) == ["a turn that must carry no loss is trained on"]
    assert problems(masked, MARKED, by_turn=True) == []
    empty = Chat(masked.messages, masked.tools, ())
    assert "no token carries loss" in problems(empty, MARKED, by_turn=True)


def test_prefixes_stay_unless_a_template_shortens_the_past() -> None:
    from synth.exporters.proof.turns import prefixes_stay
    from synth.exporters.template import MaskTemplate

    row = sft_row(
        trajectory(
            turns=(
                Turn(index=0, content="a long one"),
                Turn(index=1, content="b"),
                Turn(index=2, content="c"),
            )
        ),
        SFT,
    )
    assert prefixes_stay(row, MaskTemplate("test", MARKED, None))
    assert not prefixes_stay(row, MaskTemplate("test", FORGETFUL, None))


def test_auto_writes_whole_rows_only_where_the_students_template_keeps_prefixes(
    tmp_path: Path,
) -> None:
    from tests.synth.exporters.solved import export

    for name, source, columns in (
        ("kept", MARKED, {"messages"}),
        ("lost", FORGETFUL, {"prompt", "completion"}),
    ):
        (tmp_path / f"{name}.jinja").write_text(source)
        turns = (Turn(index=0, content="a long one"), Turn(index=1, content="b"))
        rows, _ = export(
            tmp_path / name,
            trajectory(turns=turns),
            unroll="auto",
            student=str(tmp_path / f"{name}.jinja"),
        )
        assert columns <= set(rows[0])
        assert len(rows) == (1 if name == "kept" else 2)


def test_a_student_with_a_tokenizer_is_checked_token_by_token_and_its_loss_is_counted_in_tokens(
    tmp_path: Path,
) -> None:
    pytest.importorskip("trl", reason="needs the extra: pip install -e '.[train]'")
    from synth.exporters.proof.masks import mask_problems
    from synth.exporters.template import student_template
    from tests.synth.exporters.solved import export

    tiny_model(tmp_path / "model", ["Where is it? Here it is. find ship row"])
    template = student_template(str(tmp_path / "model"))
    assert template.notes[0].startswith(
        "its chat template has no {% generation %} tags; TRL trains with a template of its own"
    )
    assert list(mask_problems(chat(tools=(FIND, SHIP)), template, by_turn=False)) == []
    _, report = export(tmp_path, trajectory(), student=str(tmp_path / "model"))
    spoken = [
        template.count(text or "") for text in template.answers(chat().messages, chat().tools)
    ]
    assert (report.loss_unit, report.loss) == ("tokens", sum(count or 0 for count in spoken))


@pytest.mark.parametrize("student", ["nowhere.jinja", "trl:nobody", "no/such/folder"])
def test_a_student_that_is_not_there_is_one_line(student: str) -> None:
    pytest.importorskip("trl", reason="needs the extra: pip install -e '.[train]'")
    from synth.exporters.template import student_template

    with pytest.raises(ConfigError, match=f"student {student}: ") as found:
        student_template(student)
    assert "\n" not in str(found.value)
