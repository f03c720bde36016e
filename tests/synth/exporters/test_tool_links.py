"""Tool results and the calls that they answer."""

import pytest

from synth.exporters.kinds.control_tokens import broken_link
from synth.schemas.trajectory import Observation, Source, ToolCall, Turn
from tests.synth.exporters.solved import trajectory

ORPHAN, UNANSWERED, NAMELESS = (
    "tool_result_without_call",
    "call_without_tool_result",
    "tool_result_without_id",
)


def call(call_id: str, name: str = "find") -> ToolCall:
    return ToolCall.received(call_id, name, "{}")


def result(call_id: str | None, name: str | None = None) -> Observation:
    return Observation("row", Source.TOOL, call_id, name)


SAID = Observation("hello", Source.USER)


@pytest.mark.parametrize(
    ("turns", "broken"),
    [
        ([], None),
        ([([], [SAID]), ([], [])], None),
        ([([call("a")], [result("a")]), ([], [])], None),
        ([([call("a"), call("b")], [result("b"), SAID, result("a")]), ([], [])], None),
        ([([call("a")], [SAID]), ([], [result("a")]), ([], [])], None),  # answered late
        ([([], []), ([call("a"), call("b")], [result("b")])], None),  # the episode ended there
        (
            [([call("a")], [result("a")]), ([call("a")], [result("a")])],
            None,
        ),  # ids that a server gives again
        ([([call("a"), call("b")], [result(None), result(None)]), ([], [])], NAMELESS),
        (
            [([call("a"), call("b", "ship")], [result("a"), result(None, "ship")]), ([], [])],
            NAMELESS,
        ),
        ([([call("")], [result("")]), ([], [])], NAMELESS),
        ([([call("a")], []), ([], [])], UNANSWERED),
        ([([call("a"), call("b")], [result("a")]), ([call("c")], [])], UNANSWERED),
        ([([call("a")], [result("b")]), ([], [])], ORPHAN),
        ([([call("a")], [result("a"), result("a")]), ([], [])], ORPHAN),
        ([([], [result("a")]), ([call("a")], [])], ORPHAN),  # the answer stands before its call
        ([([], [result(None)])], NAMELESS),
        ([([call("a")], [result(None, "ship")])], NAMELESS),
        ([([call("a")], [SAID]), ([], [result(None)])], NAMELESS),
    ],
)
def test_links(turns: list[tuple[list[ToolCall], list[Observation]]], broken: str | None) -> None:
    made = tuple(
        Turn(index=i, content=".", tool_calls=tuple(c), observations=tuple(o))
        for i, (c, o) in enumerate(turns)
    )
    assert broken_link(trajectory(turns=made)) == broken


def test_a_tool_result_before_the_first_turn_answers_nothing() -> None:
    assert broken_link(trajectory(opening=(result("c1"),))) == ORPHAN
