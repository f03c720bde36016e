"""A turn that a role writes is held to the tools that there are."""

from typing import Any

import msgspec

from synth.schemas.trajectory import ToolCall, ToolSchema, Turn
from synth.synthesizers.failures.forms import form_with
from synth.synthesizers.failures.roles import CorrectorReply, InjectorReply, Instruction


def tool(name: str, **properties: Any) -> ToolSchema:
    parameters = {"type": "object", "properties": properties, "required": list(properties)}
    function = {"name": name, "description": "Does.", "parameters": parameters}
    return msgspec.convert({"type": "function", "function": function}, ToolSchema)


SHELF = {"type": "integer", "enum": [1, 2]}


def calls(kind: type[Any], *tools: ToolSchema) -> Any:
    schema = form_with("x", kind, tools, ())["json_schema"]["schema"]
    return schema.get("$defs", {}).get("WrittenCall")


def test_calls_are_of_the_tools_with_arguments_that_fit() -> None:
    for kind in (InjectorReply, CorrectorReply):
        fetch, look = calls(kind, tool("fetch", shelf=SHELF), tool("look"))["anyOf"]
        assert fetch["properties"]["name"] == {"enum": ["fetch"]}
        assert fetch["properties"]["arguments"]["properties"] == {"shelf": SHELF}
        assert fetch["required"] == ["name", "arguments"]
        assert look["properties"]["arguments"]["properties"] == {}


def test_tools_that_refer_elsewhere_or_are_too_many_take_any_object() -> None:
    (refers,) = calls(InjectorReply, tool("a", part={"$ref": "#/$defs/part"}))["anyOf"]
    assert refers["properties"]["arguments"] == {"type": "object"}
    many = [tool(f"tool{at}", shelf=SHELF, text={"type": "string"}) for at in range(500)]
    for open_to_all in (calls(InjectorReply, *many), calls(InjectorReply)):
        assert open_to_all["properties"]["name"] == {"type": "string"}


def test_the_shared_form_is_not_changed_and_a_text_has_no_calls() -> None:
    before = calls(InjectorReply)
    calls(InjectorReply, tool("fetch", shelf=SHELF))
    assert calls(InjectorReply) == before
    assert calls(Instruction, tool("fetch", shelf=SHELF)) is None


def test_a_turn_has_as_many_calls_as_those_of_the_run_and_names_a_step_that_there_is() -> None:
    """Held to neither, a small model writes calls until it is cut off, and steps beyond the end."""
    call = ToolCall.received("c", "look", "{}")
    for made, most in ((1, 2), (5, 5)):
        turns = [Turn(0, "Look."), Turn(1, None, tool_calls=(call,) * made)]
        form = form_with("x", CorrectorReply, [tool("look")], turns, [1, 3])
        properties = form["json_schema"]["schema"]["properties"]
        assert properties["tool_calls"]["maxItems"] == most
        bounds = (properties["step"]["minimum"], properties["step"]["maximum"])
        assert bounds == (1, 3)
