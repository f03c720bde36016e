"""Every role, whatever a family of models puts around its answer: read, repaired, refused, or a
fault; never a value that nobody gave.
"""

import ast
import itertools
import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from synth.engine.asking import RoleRequest, UnreadableError, json_reply, response_form
from synth.engine.roles.replies import REFUSED
from synth.schemas.model import Completion, ModelError
from synth.synthesizers.failures.roles import InjectorReply
from synth.synthesizers.reflection.reflection import Reflection
from synth.synthesizers.trajectory_reward import JudgedReward, read_reward
from synth.text.replies.lines import in_lines
from tests.synth.engine.reply_dressings import MENDED, NOT_READ, READ, strict
from tests.synth.engine.role_answers import (
    ACTS,
    ANSWERS,
    ASKED_IN,
    KIT,
    LENIENT,
    REFUSALS,
    expected,
    matrix,
    table,
    value_of,
    without_number,
)
from tests.synth.engine.test_asking import ask, run, run_in, said
from tests.synth.models.scripted import ScriptedChat

__all__ = ["run", "run_in"]
ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("dressing", READ)
@pytest.mark.parametrize("role", LENIENT)
def test_answers_that_may_be_without_a_form_are_read_in_every_dressing(
    role: str, dressing: str
) -> None:
    assert value_of(role, said(READ[dressing](LENIENT[role]))) == LENIENT[role]


def asked_in() -> set[str]:
    """Each function of the product that makes a question for a role."""
    found = set[str]()
    for top in ("synth", "filters", "synthesizers", "envs", "flows"):
        for place in (ROOT / top).rglob("*.py"):
            text = place.read_text(encoding="utf-8")
            if "RoleRequest" in text or "about_run" in text:
                name = place.relative_to(ROOT).as_posix()
                found |= {f"{name}:{function}" for function in _asking(ast.parse(text))}
    return found


def _asking(tree: ast.Module) -> set[str]:
    """The innermost functions that call one of the three ways to make a question."""
    makes = {"RoleRequest", "RoleRequest.about", "about_run"}
    found = set[str]()

    def visit(node: ast.AST, function: str) -> None:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            function = node.name
        if isinstance(node, ast.Call) and ast.unparse(node.func) in makes:
            found.add(function)
        for child in ast.iter_child_nodes(node):
            visit(child, function)

    visit(tree, "")
    return found


def test_every_role_that_is_asked_anything_stands_in_the_matrix() -> None:
    assert asked_in() | KIT == {*ASKED_IN, *ACTS, *KIT}, "a new question: add its role's answer"
    roles = [role for of in ASKED_IN.values() for role in of]
    assert sorted(roles) == sorted((*ANSWERS, *LENIENT))


def test_a_new_question_would_be_seen() -> None:
    tree = ast.parse("async def f():\n  def g(x):\n    return RoleRequest.about(x, 'p', 'q')\n")
    assert _asking(tree) == {"g"}


@pytest.mark.slow
def test_what_each_role_makes_of_each_dressing_is_what_the_docs_show() -> None:
    outcomes = {(role, dressing): what for role, dressing, what in matrix()}
    for (role, dressing), what in outcomes.items():
        allowed = {REFUSED} if dressing in REFUSALS else {"read", "repaired"}
        if dressing in NOT_READ:
            allowed = {"unreadable"}
        assert what in allowed, (role, dressing, what)
    shown = (ROOT / "docs" / "models.md").read_text(encoding="utf-8")
    assert "\n".join(table()) in shown, "python -m tests.synth.engine.role_answers"


@pytest.mark.parametrize("role", [*ANSWERS, *LENIENT])
def test_a_server_that_fails_is_a_fault_in_every_role(run: Any, role: str) -> None:
    question = RoleRequest(purpose=role, subject_id="t", messages=())
    for error in (
        ModelError("HTTP 500", retryable=False),
        ModelError("too long", context_overflow=True),
    ):
        answer = ask(run, ScriptedChat([error]), question, read=partial(value_of, role))
        assert (answer.value, answer.unreadable) == (None, None)
        assert answer.fault is not None


def test_answers_without_a_form() -> None:
    assert value_of("skill_writer", said("<think>hm</think>Look first.")) == {
        "skill": "Look first."
    }
    assert value_of("judge_steps", said("I'd say [3, 'step 1']."))["steps"] == [3, 1]
    for role, text in (
        ("skill_writer", "I'm sorry, but I can't help with that."),
        ("skill_writer", '{"skill": "Look'),
        ("skill_writer", ""),
        ("judge_steps", "[1] or [2]"),
        ("judge_steps", '{"steps": [1, '),
    ):
        with pytest.raises(UnreadableError):
            value_of(role, said(text))


@pytest.mark.parametrize("dressing", READ)
@pytest.mark.parametrize("role", ANSWERS)
def test_a_right_answer_is_read_in_every_dressing(role: str, dressing: str) -> None:
    if without_number(role, dressing):
        pytest.skip("it has no number of its own, or a scale that words would change")
    text = READ[dressing](ANSWERS[role])
    assert value_of(role, said(text)) == expected(role)


@pytest.mark.parametrize("dressing", NOT_READ)
@pytest.mark.parametrize("role", ANSWERS)
def test_what_is_no_answer_is_none(role: str, dressing: str) -> None:
    with pytest.raises(UnreadableError):
        value_of(role, said(NOT_READ[dressing](ANSWERS[role])))


@pytest.mark.parametrize("role", ANSWERS)
def test_what_is_cut_off_at_the_limit_is_never_read(run: Any, role: str) -> None:
    """However whole it looks: what came first may be a draft, and a line of YAML has no end."""
    for dressing in READ:
        text = READ[dressing](ANSWERS[role])
        question = RoleRequest(purpose=f"{role} {dressing}", subject_id="t", messages=())
        cut = said(text, finish_reason="length")
        answer = ask(run, ScriptedChat([cut] * 3), question, read=partial(value_of, role))
        assert (answer.value, answer.unreadable) == (None, "it was cut off at the token limit")


def test_yaml_that_stands_for_more_than_it_says_is_none() -> None:
    names = "abcdefghi"
    lines = [
        f"{one}: &{one} [{', '.join(['x' if one == 'a' else f'*{before}'] * 9)}]"
        for before, one in itertools.pairwise(f"_{names}")
    ]
    found = in_lines("\n".join(lines), names)
    assert found is not None
    assert found["i"] == "&i [*h, *h, *h, *h, *h, *h, *h, *h, *h]", "the words, and no more"
    assert in_lines("a: no\nb: 2026-11-26", "ab") == {"a": "no", "b": "2026-11-26"}
    assert in_lines("? [x]\n: y", "a") is None


def asked(run: Any, *replies: Any) -> Any:
    question = RoleRequest(
        purpose="x", subject_id="t", messages=({"role": "user", "content": "How many?"},)
    )
    return ask(run, ScriptedChat(replies), question, read=lambda c: json_reply(c, JudgedReward))


@pytest.mark.parametrize("dressing", sorted(READ))
def test_what_was_mended_is_kept_with_the_reply(tmp_path: Path, run: Any, dressing: str) -> None:
    answer = asked(run, said(READ[dressing](ANSWERS["judge_reward"])))
    (reply,) = answer.replies
    assert (answer.value, reply.unreadable) == (JudgedReward("r", 3), None)
    assert ("json_read_loosely" in reply.repairs) is (dressing in MENDED)
    assert reply.prompt_hash is not None


@pytest.mark.parametrize("dressing", ["yaml", "markdown table", "bold lines"])
def test_an_answer_that_is_no_json_counts_as_mended_where_json_was_asked_for(
    run: Any, dressing: str
) -> None:
    form = response_form("reward", JudgedReward)
    for asked_for, repairs in ((form, ("answer_without_json",)), (None, ())):
        question = RoleRequest(purpose=dressing, subject_id="t", messages=(), form=asked_for)
        text = READ[dressing](ANSWERS["judge_reward"])
        answer = ask(run, ScriptedChat([said(text)]), question, read=read_reward)
        (reply,) = answer.replies
        assert (answer.value, reply.repairs) == (JudgedReward("r", 3), repairs)


@pytest.mark.parametrize("way", REFUSALS)
def test_a_refusal_is_told_apart_from_what_cannot_be_read(run: Any, way: str) -> None:
    answer = asked(run, *[REFUSALS[way]] * 3)
    assert (answer.value, answer.fault) == (None, None)
    assert answer.refused
    assert {reply.unreadable.partition(":")[0] for reply in answer.replies} == {REFUSED}


def test_an_answer_that_speaks_of_refusing_is_an_answer(run: Any) -> None:
    text = json.dumps({"reason": "I'm sorry, I can't help with that, said the agent.", "reward": 1})
    answer = asked(run, said(text))
    assert (answer.value.reward, answer.refused) == (1, False)


def test_a_reply_is_asked_for_again_once_it_cannot_be_read(run: Any) -> None:
    answer = asked(run, said("three"), said('{"reason": "r", "reward": 3}'))
    assert answer.value == JudgedReward("r", 3)
    assert [reply.unreadable is None for reply in answer.replies] == [False, True]


def test_a_server_that_fails_is_a_fault(run: Any) -> None:
    answer = asked(run, ModelError("HTTP 500", retryable=False))
    assert (answer.value, answer.refused) == (None, False)
    assert answer.fault is not None


def test_a_full_context_in_the_middle_of_asking_again_is_no_question_too_long(run: Any) -> None:
    full = ModelError("too long", context_overflow=True)
    answer = asked(run, said("three"), full)
    assert (answer.value, answer.fault) == (None, None)
    assert answer.unreadable == "it holds no JSON object"
    first = asked(run, full)
    assert first.fault is not None
    assert first.fault.context_overflow


def test_a_reply_that_the_server_took_for_thinking_is_read_where_it_ends_so() -> None:
    answer = strict(ANSWERS["judge_reward"])
    whole = Completion(content=None, thought=f"Hm.\n{answer}", finish_reason="stop")
    assert value_of("judge_reward", whole) == ANSWERS["judge_reward"]
    with pytest.raises(UnreadableError):
        value_of("judge_reward", Completion(content="", thought=f"{answer} or so?"))


def test_a_form_closes_its_objects_and_is_strict_only_where_all_are_closed() -> None:
    form = response_form("reflection", Reflection)["json_schema"]
    assert form["strict"]
    assert form["schema"]["required"] == [*ANSWERS["reflector"]]
    assert form["schema"]["additionalProperties"] is False
    open_form = response_form("mistake", InjectorReply)["json_schema"]
    assert not open_form["strict"], "arguments are those of any tool"
    assert open_form["schema"]["$defs"]["WrittenCall"]["required"] == ["name", "arguments"]


def test_a_form_is_asked_for_unless_the_role_names_its_own() -> None:
    form = response_form("reward", JudgedReward)
    question = RoleRequest(purpose="x", subject_id="t", messages=(), form=form)
    assert question.drawn({"temperature": 0.5}).extra == {"response_format": form}
    own = {"structured_outputs": {"json": {}}}
    assert question.drawn({"extra": own}).extra == own
