"""Tool schemas out of calls: what a corpus shows of its tools, and what provenance says with it."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from synth.api.curation import curate
from synth.engine.progress import PlainProgress
from synth.filters.inferred import with_inferred_tools
from synth.importers.commit import import_into
from synth.importers.records import ImportSettings
from synth.ledger.ledger import StoredLedger
from synth.ledger.log.state import LedgerState
from synth.schemas.flow import Flow
from synth.schemas.trajectory import ToolCall
from synth.text.inferred_tools import InferredTools


def called(name: str, **arguments: Any) -> ToolCall:
    return ToolCall.received("c", name, json.dumps(arguments))


def of_calls(*calls: tuple[str, ToolCall]) -> Any:
    """The parameters of the first tool, and what they may be."""
    tools = InferredTools()
    for task, call in calls:
        tools.add([call], task)
    return tools.schemas(values=True)[0]["function"]


def test_names_types_and_what_is_always_given() -> None:
    found = of_calls(("1", called("pay", sum=3, to="a")), ("2", called("pay", sum=2.5)))
    assert found["name"] == "pay"
    assert found["description"].startswith("Inferred from 2 calls")
    assert found["parameters"] == {
        "type": "object",
        "properties": {"sum": {"type": "number"}, "to": {"type": "string"}},
        "required": ["sum"],
    }


def test_an_argument_of_few_values_is_told_from_ids() -> None:
    """Ids stand in the calls of one task, however often it is tried."""
    calls = [
        (str(task), called("cancel", reason=("late", "wrong")[task % 2], order=f"O-{task}"))
        for task in range(6)
        for _ in range(4)
    ]
    properties = of_calls(*calls)["parameters"]["properties"]
    assert properties["reason"] == {"type": "string", "enum": ["late", "wrong"]}
    assert properties["order"] == {"type": "string"}


def test_arguments_that_are_no_object_show_nothing() -> None:
    tools = InferredTools()
    tools.add([ToolCall.received("c", "pay", "{")], "1")
    assert tools.schemas() == ()


def chats(folder: Path) -> str:
    """Cancellations for one of two reasons that no goal names; the last of an order that nobody
    named.
    """
    written = []
    for number in range(7):
        order = "O-99" if number == 6 else f"O-{number}"
        call = called("cancel_order", order=order, reason=("late", "wrong")[number % 2])
        made = {
            "id": "c",
            "type": "function",
            "function": {"name": call.name, "arguments": call.arguments},
        }
        messages = [
            {"role": "system", "content": "You cancel."},
            {"role": "user", "content": f"Please cancel O-{number}."},
            {"role": "assistant", "content": "", "tool_calls": [made]},
            {"role": "tool", "tool_call_id": "c", "content": "ok"},
            {"role": "assistant", "content": "Done."},
        ]
        written.append({"messages": messages, "reward": 1})
    source = folder / "chats.jsonl"
    source.write_text("".join(json.dumps(one) + "\n" for one in written))
    import_into(str(folder / "run"), [source], "auto", PlainProgress(StringIO()), ImportSettings())
    return str(folder / "run")


def reasons(url: str, **settings: Any) -> dict[str, int]:
    stages = [{"filter": [{"provenance": settings}]}]
    flow = Flow.model_validate({"name": "later", "stages": stages})
    (found,) = curate(url, flow, quiet=True).reports["filter"]["filters"]
    return {**found["kept"], **found["dropped"], **found["undefined"]}


@pytest.mark.slow
def test_provenance_speaks_where_the_source_recorded_no_schemas(tmp_path: Path) -> None:
    url = chats(tmp_path)
    assert reasons(url, infer=False) == {"no_tool_schemas": 7}
    assert reasons(url) == {"justified": 6, "unjustified_argument": 1}
    assert not any(one.tools for one in StoredLedger(url).trajectories()), (
        "what came in stays as it is"
    )


def test_who_is_valid_is_asked_anew_only_where_the_ledger_grew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once for each trajectory costs with the square of their number."""
    asked = []
    valid = LedgerState.current_valid

    def counted(state: LedgerState) -> list[str]:
        asked.append(state.lines)
        return valid(state)

    ledger = StoredLedger(chats(tmp_path))
    known = list(ledger.trajectories())
    monkeypatch.setattr(LedgerState, "current_valid", counted)
    names = {with_inferred_tools(one, ledger).tools[0]["function"]["name"] for one in known}
    assert names == {"cancel_order"}
    assert len(asked) < len(known)

    more = {"messages": json.loads((tmp_path / "chats.jsonl").read_text().splitlines()[0])}
    more["messages"] = more["messages"]["messages"]
    more["messages"][2]["tool_calls"][0]["function"]["name"] = "stop_order"
    source = tmp_path / "more.jsonl"
    source.write_text(json.dumps(more) + "\n")
    run = str(tmp_path / "run")
    import_into(run, [source], "auto", PlainProgress(StringIO()), ImportSettings())
    ledger.refresh()
    tools = with_inferred_tools(known[0], ledger).tools
    assert {tool["function"]["name"] for tool in tools} == {"cancel_order", "stop_order"}
