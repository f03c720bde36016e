"""Every status an argument can have, on episodes whose answer is plain to a reader."""

import msgspec
import pytest

from synth.schemas.trajectory import Observation, ToolCall, Turn
from synth.text.provenance import Sighting, Status, provenance
from tests.synth.text.provenance.episodes import called, episode, last, linted, tool

ORDER = {
    "order_id": "O-4471",
    "total": 84.5,
    "lines": [{"line": 1, "sku": "V-10"}, {"line": 2, "sku": "V-11"}],
}


def test_what_the_user_said_is_observed_in_the_opening():
    found = last(linted(called("cancel_order", order_id="O-4471"), goal="Please cancel O-4471."))
    assert (found.status, found.where) == (Status.OBSERVED, Sighting(None, "user"))


def test_what_a_tool_answered_is_observed_where_it_stood_first():
    report = linted(
        called("list_orders", [ORDER]),
        called("get_order", ORDER),
        called("cancel_order", order_id="O-4471"),
    )
    assert (last(report).status, last(report).where) == (
        Status.OBSERVED,
        Sighting(0, "tool:list_orders"),
    )


def test_what_nobody_showed_is_unjustified():
    report = linted(
        called("get_order", ORDER), called("cancel_order", order_id="O-9999"), goal="Cancel O-4471."
    )
    assert [
        (f.turn, f.call, f.tool, f.path, f.value, f.status, f.where) for f in report.findings
    ] == [(1, 0, "cancel_order", "order_id", "O-9999", Status.UNJUSTIFIED, None)]
    assert report.justified is False
    assert report.counts["unjustified"] == 1


def test_what_comes_with_the_call_or_later_is_no_source():
    assert (
        last(linted(called("cancel_order", {"order_id": "O-1234"}, order_id="O-1234"))).status
        is Status.UNJUSTIFIED
    )


def test_parallel_calls_do_not_see_each_others_answers():
    calls = (
        ToolCall.received("a", "get_order", '{"order_id": "O-1"}'),
        ToolCall.received("b", "refund", '{"payment_id": "PM-777"}'),
    )
    turn = Turn(
        0,
        tool_calls=calls,
        observations=(
            Observation('{"payment_id": "PM-777"}', call_id="a"),
            Observation("done", call_id="b"),
        ),
    )
    assert last(linted(turn)).status is Status.UNJUSTIFIED


def test_the_agents_own_words_and_calls_are_no_source():
    said = Turn(0, "I shall use PM-777.", observations=())
    report = linted(
        said,
        called("get_payment", "nothing found", payment_id="PM-777"),
        called("refund", payment_id="PM-777"),
    )
    assert last(report).status is Status.UNJUSTIFIED


@pytest.mark.parametrize("marked", [True, False])
def test_an_error_that_echoes_the_argument_is_no_source(marked):
    failed = called("get_order", "Error: there is no order O-9999", error=marked, order_id="O-9999")
    assert (
        last(linted(failed, called("cancel_order", order_id="O-9999"))).status is Status.UNJUSTIFIED
    )


def test_an_error_shows_what_the_agent_had_not_written():
    refused = called("refund", "Error: refunds go to PM-2 only", error=True, to="PM-1")
    assert [f.status for f in linted(refused, called("refund", to="PM-2")).findings] == [
        Status.UNJUSTIFIED,
        Status.OBSERVED,
    ]


def test_a_value_that_the_schema_names_needs_no_observation():
    schema = tool(
        "cancel_order", reason={"type": "string", "enum": ["no_longer_needed", "mistake"]}
    )
    assert (
        last(linted(called("cancel_order", reason="mistake"), tools=(schema,))).status
        is Status.SCHEMA
    )
    assert (
        last(linted(called("cancel_order", reason="boredom sets in"), tools=(schema,))).status
        is Status.UNJUSTIFIED
    )


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"const": "eur"}, "eur"),
        ({"type": "string", "default": "eur"}, "eur"),
        ({"anyOf": [{"enum": ["eur"]}, {"type": "null"}]}, "eur"),
    ],
)
def test_constants_defaults_and_alternatives_of_a_schema_count(schema, value):
    assert (
        last(
            linted(
                called("set_currency", currency=value),
                tools=(tool("set_currency", currency=schema),),
            )
        ).status
        is Status.SCHEMA
    )


def test_truth_values_are_the_schemas():
    assert last(linted(called("subscribe", weekly=True))).status is Status.SCHEMA


def test_enumerated_items_are_found_at_their_depth():
    schema = tool(
        "set_days", days={"type": "array", "items": {"type": "string", "enum": ["mon", "tue"]}}
    )
    report = linted(called("set_days", days=["tue", "sun"]), tools=(schema,))
    assert [(f.path, f.status) for f in report.findings] == [
        ("days[0]", Status.SCHEMA),
        ("days[1]", Status.UNJUSTIFIED),
    ]


@pytest.mark.parametrize("name", ["message", "reason", "summary", "note"])
def test_free_text_is_exempt(name):
    report = linted(called("escalate", **{name: "The parcel was opened."}))
    assert last(report).status is Status.EXEMPT
    assert report.justified is None


def test_a_long_string_is_free_text_whatever_its_name():
    words = "one two three four five six seven eight nine ten eleven twelve".split()  # noqa: SIM905
    assert last(linted(called("post", blurb=" ".join([*words, "more"])))).status is Status.EXEMPT
    assert last(linted(called("post", blurb=" ".join(words)))).status is Status.UNJUSTIFIED


@pytest.mark.parametrize("value", [None, "", "  "])
def test_emptiness_is_exempt(value):
    assert last(linted(called("update", nickname=value))).status is Status.EXEMPT


def test_keys_that_are_values_are_judged():
    schema = tool(
        "modify_lines", lines={"type": "object", "additionalProperties": {"type": "string"}}
    )
    report = linted(
        called("get_order", ORDER), called("modify_lines", lines={"7": "V-11"}), tools=(schema,)
    )
    assert [(f.path, f.status) for f in report.findings] == [
        ("lines.7#key", Status.UNJUSTIFIED),
        ("lines.7", Status.OBSERVED),
    ]


def test_a_small_number_must_stand_under_its_own_key():
    answered = called("get_order", {**ORDER, "items": 5})
    assert last(linted(answered, called("return_lines", lines=[2]))).status is Status.OBSERVED
    assert last(linted(answered, called("return_lines", lines=[5]))).status is Status.UNJUSTIFIED


def test_a_small_number_that_the_user_said_needs_no_key():
    answered = called("get_order", ORDER)
    assert (
        last(linted(answered, called("return_lines", lines=[3]), goal="Return line 3.")).status
        is Status.OBSERVED
    )
    assert (
        last(
            linted(answered, called("return_lines", lines=[3]), goal="Help me:\n3. Return it.")
        ).status
        is Status.UNJUSTIFIED
    )


def test_a_computed_amount_says_how():
    found = last(
        linted(
            called("get_order", {"unit_price": 12.25, "quantity": 3}),
            called("refund", amount=36.75),
        )
    )
    assert (found.status, found.where and found.where.detail) == (Status.COMPUTED, "product")


def test_reads_are_not_judged_and_the_world_may_say_what_a_write_is():
    trajectory = episode(
        called("get_order", order_id="O-1"), called("cancel_order", order_id="O-1")
    )
    assert [f.tool for f in provenance(trajectory).findings] == ["cancel_order"]
    assert [
        f.tool for f in provenance(trajectory, effectful=lambda name: name == "get_order").findings
    ] == ["get_order"]


def test_arguments_that_cannot_be_read_are_not_judged():
    turn = Turn(0, tool_calls=(ToolCall.received("c", "cancel_order", '{"order_id": '),))
    assert linted(turn).findings == ()


def test_a_trajectory_without_effects_is_undecided():
    report = provenance(msgspec.structs.replace(episode(), turns=()))
    assert (report.justified, report.choices_justified) == (None, None)


def test_an_answer_that_repeats_the_agents_own_number_shows_no_other():
    denied = called("deny", {"ok": True, "request": 2}, request=2)
    report = linted(
        denied, called("deny", request=1), goal="Two requests:\n1. Cancel O-1.\n2. Cancel O-2."
    )
    assert [f.status for f in report.findings] == [Status.OBSERVED, Status.OBSERVED]


def test_a_number_that_counts_something_else_is_no_source():
    names = (
        tool("deny", request={"type": "integer"}),
        tool("return_lines", lines={"type": "array", "items": {"type": "integer"}}),
    )
    said = "I changed my mind about request 3."
    assert (
        last(linted(called("return_lines", lines=[3]), goal=said, tools=names)).status
        is Status.UNJUSTIFIED
    )
    assert last(linted(called("deny", request=3), goal=said, tools=names)).status is Status.OBSERVED


def test_a_place_in_a_list_of_the_entity_at_hand_is_seen():
    listed = called("list_orders", {"orders": [{"order_id": "O-4471", "skus": ["V-10", "V-11"]}]})
    found = [
        last(linted(listed, called("return_lines", order_id="O-4471", lines=[n]))).status
        for n in (2, 3)
    ]
    assert found == [Status.COMPUTED, Status.UNJUSTIFIED]


def test_an_error_shows_a_number_of_which_the_agent_wrote_only_digits():
    failed = called("pay", "Error: the total is 608", error=True, payment_id="PM-16082", amount=375)
    assert last(linted(failed, called("pay", amount=608))).status is Status.OBSERVED
