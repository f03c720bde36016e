"""Kinds by schema, name and shape, and what the linter makes of them in an episode."""

import json
from typing import Any

import pytest

from synth.text.provenance import Status
from synth.text.provenance.arguments import Argument
from synth.text.provenance.kinds.kind import ArgumentKind, kind_of
from tests.synth.text.provenance.episodes import called, linted, tool


@pytest.mark.parametrize(
    ("name", "value", "schema", "kind"),
    [
        ("order_id", "O-4471", {}, ArgumentKind.IDENTIFIER),
        ("amount", 12.5, {}, ArgumentKind.NUMBER),
        ("timeout", 120, {}, ArgumentKind.SETTING),
        ("lines", 2, {}, ArgumentKind.NUMBER),
        ("method", "card", {"enum": ["card", "cash"]}, ArgumentKind.ENUMERATION),
        ("day", "2026-03-05", {}, ArgumentKind.DATE),
        ("command", "ls -la", {}, ArgumentKind.COMMAND),
        ("statement", "SELECT a FROM b", {}, ArgumentKind.QUERY),
        ("body", '{"id": "O-1"}', {}, ArgumentKind.JSON),
        ("link", "https://shop.example/x", {}, ArgumentKind.URL),
        ("replacement", "def f(x):\n    return {x: 1}", {}, ArgumentKind.CODE),
        ("replacement", "# round\n        return int(x)", {}, ArgumentKind.CODE),
        ("code", "KX-2210", {}, ArgumentKind.IDENTIFIER),
        ("code", "print(1)", {}, ArgumentKind.CODE),
        ("target", "src/fields.py", {}, ArgumentKind.PATH),
        ("input", "How can I improve my search strategy?", {}, ArgumentKind.PROSE),
        ("city", "Springfield", {}, ArgumentKind.TEXT),
        ("address", "12 Elm Street", {}, ArgumentKind.TEXT),
    ],
)
def test_the_kind_of_an_argument(name: str, value: Any, schema: Any, kind: ArgumentKind) -> None:
    assert kind_of(Argument(name, name, value, schema), "do_it") is kind


def status(**arguments: Any) -> list[tuple[Any, Status]]:
    return told("do_it", "Look at O-4471.", **arguments)


def told(name: str, goal: str, **arguments: Any) -> list[tuple[Any, Status]]:
    report = linted(called(name, "ok", **arguments), goal=goal, tools=(tool(name),))
    return [(one.value, one.status) for one in report.findings]


def test_a_command_is_judged_by_what_it_names_and_no_more() -> None:
    assert status(command="shopctl cancel O-4471 --force") == [("O-4471", Status.OBSERVED)]
    assert status(command="shopctl cancel O-9999 --force") == [("O-9999", Status.UNJUSTIFIED)]
    long = " && ".join(["echo step"] * 10)
    assert status(command=f"{long} && shopctl cancel O-9999") == [("O-9999", Status.UNJUSTIFIED)]
    assert status(command="make test") == [("make test", Status.EXEMPT)]


def test_json_in_a_text_is_judged_scalar_by_scalar() -> None:
    assert status(body=json.dumps({"order": "O-4471", "city": "Nowhere"})) == [
        ("O-4471", Status.OBSERVED),
        ("Nowhere", Status.UNJUSTIFIED),
    ]


def test_what_a_writing_tool_makes_is_the_agents_own_and_known_from_then_on() -> None:
    made = called("create", "ok", filename="repro_4711.py")
    ran = called("bash", "ok", command="python repro_4711.py")
    report = linted(made, ran, tools=(tool("create"), tool("bash")))
    assert [one.status for one in report.findings] == [Status.EXEMPT, Status.EXEMPT]
    assert linted(ran, tools=(tool("bash"),)).unjustified


def test_a_querying_tool_that_is_told_to_change_is_judged() -> None:
    assert told("query", "Look.", sql="SELECT a FROM b WHERE id = 'O-9999'") == []
    assert told("query", "Look.", sql="DELETE FROM b WHERE id = 'O-9999'") == [
        ("O-9999", Status.UNJUSTIFIED)
    ]


def test_what_stands_in_a_tools_description_was_shown() -> None:
    described = {"type": "string", "description": "A code such as KX-2210"}
    report = linted(
        called("do_it", "ok", code_id="KX-2210"), tools=(tool("do_it", code_id=described),)
    )
    assert [one.status for one in report.findings] == [Status.SCHEMA]


def test_both_days_of_a_span_are_read_in_several_languages() -> None:
    for goal in ("From 10 to 12 July, please.", "Del 10 al 12 de julio.", "July 10-12"):
        report = linted(
            called("book", "ok", start="2024-07-10", end="2024-07-12"),
            goal=goal,
            tools=(tool("book"),),
        )
        assert [one.status for one in report.findings] == [Status.COMPUTED] * 2


def test_an_act_in_words_is_a_command_and_another_tools_action_is_not() -> None:
    act = Argument("action", "action", "click [1]")
    assert kind_of(act, "act") is ArgumentKind.COMMAND
    assert kind_of(act, "do_it") is not ArgumentKind.COMMAND
