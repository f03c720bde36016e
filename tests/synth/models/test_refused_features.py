"""What a server refuses is left out, and is not asked for again; other refusals are raised."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from synth.models.refused_features import FittingChat
from synth.models.server_error import ServerError
from synth.schemas.model import Completion, Message, Sampling
from synth.schemas.trajectory import ToolSchema
from tests.synth.models.scripted import says

TOOL = {"type": "function", "function": {"name": "f", "parameters": {}}}
SCHEMA = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "object"}}}
FORMED = Sampling(temperature=0.5, extra={"response_format": SCHEMA, "top_k": 4})
Refuses = Callable[[Sequence[ToolSchema], Sampling], str | None]


class Picky:
    """A server that refuses what `refuses` gives words for, with a 400."""

    name = "picky"

    def __init__(self, refuses: Refuses) -> None:
        self.refuses = refuses
        self.asked: list[Sampling] = []

    async def complete(
        self, messages: Sequence[Message], tools: Sequence[ToolSchema], sampling: Sampling
    ) -> Completion:
        self.asked.append(sampling)
        why = self.refuses(tools, sampling)
        if why is not None:
            raise ServerError(f"HTTP 400: {why}", status=400)
        return says("ok")

    async def close(self) -> None:
        """Nothing to close."""


def asked(model: FittingChat, tools: Sequence[Any], sampling: Sampling) -> Completion:
    return asyncio.run(model.complete([{"role": "user", "content": "hi"}], tools, sampling))


def no_parser(tools: Sequence[ToolSchema], sampling: Sampling) -> str | None:
    auto = sampling.extra.get("tool_choice") != "none"
    words = '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'
    return words if tools and auto else None


def test_a_server_without_a_parser_is_asked_to_show_the_tools_only() -> None:
    server = Picky(no_parser)
    model = FittingChat(server)
    for _ in range(2):
        assert asked(model, [TOOL], Sampling()).repairs == ("tools_without_server_parser",)
    choices = [one.extra.get("tool_choice") for one in server.asked]
    assert choices == [None, "none", "none"], "refused once, and not asked for again"


def test_a_tool_choice_of_the_users_own_is_not_changed() -> None:
    with pytest.raises(ServerError):
        asked(FittingChat(Picky(no_parser)), [TOOL], Sampling(extra={"tool_choice": "required"}))


@pytest.mark.parametrize(
    ("knows", "forms"),
    [
        (("json_schema", "json_object", None), ["json_schema", "json_schema"]),
        (("json_object", None), ["json_schema", "json_object", "json_object"]),
        ((None,), ["json_schema", "json_object", None, None]),
    ],
)
def test_a_form_that_is_refused_gives_way_to_the_next(
    knows: Sequence[str | None], forms: list[str | None]
) -> None:
    def form(sampling: Sampling) -> str | None:
        return sampling.extra.get("response_format", {}).get("type")

    server = Picky(lambda tools, s: None if form(s) in knows else "response_format: unknown")
    model = FittingChat(server)
    replies = [asked(model, (), FORMED) for _ in range(2)]
    assert [form(one) for one in server.asked] == forms
    told = ("response_format_refused",) if len(knows) < 3 else ()
    assert [one.repairs for one in replies] == [told, told]
    assert {one.extra.get("top_k") for one in server.asked} == {4}


def test_a_request_that_is_refused_without_the_form_too_is_refused_for_its_own_reason() -> None:
    server = Picky(lambda tools, sampling: "the messages are wrong")
    model = FittingChat(server)
    with pytest.raises(ServerError, match="the messages are wrong"):
        asked(model, (), FORMED)
    server.refuses = lambda tools, sampling: None
    assert asked(model, (), FORMED).repairs == (), "the form is asked for again"


def test_a_full_context_is_no_refusal_of_the_form() -> None:
    class Full(Picky):
        async def complete(self, messages: Any, tools: Any, sampling: Sampling) -> Completion:
            self.asked.append(sampling)
            raise ServerError("too long", status=400, context_overflow=True)

    server = Full(lambda tools, sampling: None)
    with pytest.raises(ServerError):
        asked(FittingChat(server), (), FORMED)
    assert len(server.asked) == 1


def test_without_a_form_nothing_is_added() -> None:
    server = Picky(lambda tools, sampling: None)
    plain = replace(FORMED, extra={})
    asked(FittingChat(server), (), plain)
    assert server.asked == [plain]


def test_lengths_of_lists_are_left_out_where_a_server_takes_none() -> None:
    def no_lengths(_: Sequence[ToolSchema], sampling: Sampling) -> str | None:
        return "schema: minItems is not supported" if "minItems" in str(sampling.extra) else None

    steps = {"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": 2}
    bounded = {"type": "object", "properties": {"steps": steps}}
    form = {"type": "json_schema", "json_schema": {"name": "x", "schema": bounded}}
    server = Picky(no_lengths)
    model = FittingChat(server)
    for _ in range(2):
        asked(model, [], replace(FORMED, extra={"response_format": form}))
    asked(model, [], FORMED)
    schemas = [one.extra["response_format"]["json_schema"]["schema"] for one in server.asked]
    left = {
        "type": "object",
        "properties": {"steps": {"type": "array", "items": {"type": "string"}}},
    }
    assert schemas == [bounded, left, left, {"type": "object"}]
