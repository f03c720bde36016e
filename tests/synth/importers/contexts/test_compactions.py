"""Behind a compaction a trajectory of its own begins: the model never saw what came before."""

import json
from pathlib import Path
from typing import Any

from synth.importers.records import Imported
from tests.synth.importers.imports import read_document, read_lines

COPY = "copied_context"
Told = tuple[str, list[str], list[tuple[str | None, str | None]]]


def told(found: Imported) -> Told:
    """The environment, what was heard first, and each answer with its mask."""
    trajectory = found.trajectory
    return (
        trajectory.env,
        [one.content for one in trajectory.opening],
        [(turn.content, turn.mask) for turn in trajectory.turns],
    )


def event(number: int, source: str, **fields: Any) -> dict[str, Any]:
    """An event of OpenHands' server."""
    return {"id": number, "timestamp": "2025-06-01T10:00:00", "source": source, **fields}


def ran(number: int, command: str, gave: str) -> list[dict[str, Any]]:
    """An action with what it gave."""
    name = f"c{number}"
    call: dict[str, Any] = {"id": name, "type": "function"}
    call |= {"function": {"name": "bash", "arguments": json.dumps({"command": command})}}
    answer = {"role": "assistant", "content": f"I run {command}.", "tool_calls": [call]}
    meta = {"function_name": "bash", "tool_call_id": name}
    asked = meta | {"model_response": {"id": f"r{number}", "choices": [{"message": answer}]}}
    return [
        event(number, "agent", action="run", args={"command": command}, tool_call_metadata=asked),
        event(
            number + 1,
            "agent",
            observation="run",
            cause=number,
            content=gave,
            tool_call_metadata=meta,
        ),
    ]


def condensation(number: int, **args: Any) -> dict[str, Any]:
    return event(number, "agent", action="condensation", args=args)


START = [
    event(0, "agent", action="system", args={"content": "S"}),
    event(1, "user", action="message", args={"content": "Mend it."}),
]


def test_openhands_forgets_events_and_keeps_the_others(tmp_path: Path) -> None:
    events = [
        *START,
        *ran(2, "ls", "a.py"),
        *ran(4, "cat", "f"),
        condensation(
            6,
            forgotten_event_ids=None,
            forgotten_events_start_id=2,
            forgotten_events_end_id=3,
            summary="There is a.py.",
            summary_offset=2,
        ),
        *ran(7, "sed", ""),
    ]
    run = {"instance_id": "i", "history": events, "report": {"resolved": True}}
    (first, second), rejected = read_document(tmp_path, run)
    assert rejected == []
    assert told(first) == (
        "openhands",
        ["Mend it."],
        [("I run ls.", None), ("I run cat.", None)],
    )
    assert told(second) == (
        "openhands/continued",
        ["Mend it.", "There is a.py."],
        [("I run cat.", COPY), ("I run sed.", None)],
    )
    assert [one.trajectory.outcome for one in (first, second)] == 2 * ["success"]
    assert first.task.task_id != second.task.task_id


def test_a_condensation_that_forgets_nothing_begins_nothing(tmp_path: Path) -> None:
    events = [*START, *ran(2, "ls", ""), condensation(4, forgotten_event_ids=[]), *ran(5, "id", "")]
    (found,), _ = read_document(tmp_path, events)
    assert len(found.trajectory.turns) == 2


def test_one_of_two_parallel_calls_can_be_forgotten(tmp_path: Path) -> None:
    def act(number: int, name: str, command: str) -> dict[str, Any]:
        call = {"id": name, "name": "bash", "arguments": json.dumps({"command": command})}
        return {
            "id": f"e{number}",
            "source": "agent",
            "kind": "ActionEvent",
            "thought": [{"type": "text", "text": "Both."}],
            "tool_name": "bash",
            "tool_call_id": name,
            "tool_call": call,
            "llm_response_id": "r1",
        }

    def gave(number: int, name: str, of: str) -> dict[str, Any]:
        told = {"content": [{"type": "text", "text": name}]}
        about = {"source": "environment", "kind": "ObservationEvent", "tool_name": "bash"}
        return {"id": f"e{number}", "action_id": of, "tool_call_id": name, **about} | {
            "observation": told
        }

    asked = {"role": "user", "content": [{"type": "text", "text": "Count."}]}
    said = {"role": "assistant", "content": [{"type": "text", "text": "Done."}]}
    events = [
        {"id": "e1", "source": "user", "kind": "MessageEvent", "llm_message": asked},
        act(2, "k1", "ls"),
        act(3, "k2", "pwd"),
        gave(4, "k1", "e2"),
        gave(5, "k2", "e3"),
        {"id": "e6", "kind": "Condensation", "forgotten_event_ids": ["e2", "e4"]},
        {"id": "e7", "source": "agent", "kind": "MessageEvent", "llm_message": said},
    ]
    (first, second), _ = read_document(tmp_path, events)
    calls = [[call.call_id for call in turn.tool_calls] for turn in first.trajectory.turns]
    assert calls == [["k1", "k2"]]
    (kept, last) = second.trajectory.turns
    assert [call.call_id for call in kept.tool_calls] == ["k2"]
    assert [one.call_id for one in kept.observations] == ["k2"]
    assert (kept.mask, last.mask, last.content) == (COPY, None, "Done.")


def test_a_summary_in_anthropics_messages_stands_for_all_before_it(tmp_path: Path) -> None:
    block = {"type": "compaction", "content": "Monday is done."}
    chat = [
        {"role": "user", "content": "Plan my week."},
        {"role": "assistant", "content": "Monday: rest."},
        {"role": "user", "content": "And?"},
        {"role": "assistant", "content": [block, {"type": "text", "text": "Tuesday: gym."}]},
        {"role": "user", "content": "Go on."},
        {"role": "assistant", "content": "Wednesday: swim."},
    ]
    (first, second), _ = read_document(tmp_path, {"messages": chat, "success": True})
    assert told(first)[1:] == (["Plan my week."], [("Monday: rest.", None)])
    assert told(second)[1:] == (
        ["Monday is done."],
        [("Tuesday: gym.", None), ("Wednesday: swim.", None)],
    )
    assert told(second)[0].endswith("/continued")
    # one that failed is no summary, and begins nothing
    chat[3] = {"role": "assistant", "content": [block | {"content": None}, *_text("Tuesday.")]}
    assert len(read_document(tmp_path, {"messages": chat})[0]) == 1


def _text(words: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": words}]


def test_calls_behind_an_encrypted_summary_go_on_in_a_context_of_their_own(tmp_path: Path) -> None:
    def call(items: list[Any], *output: Any) -> dict[str, Any]:
        response = {"object": "response", "model": "m", "output": list(output)}
        return {"request": {"model": "m", "input": items}, "response": response}

    def said(words: str) -> dict[str, Any]:
        parts = [{"type": "output_text", "text": words}]
        return {"type": "message", "role": "assistant", "content": parts}

    asked = {"role": "user", "content": "A?"}
    sealed = {"type": "compaction", "id": "c", "encrypted_content": "gAAA"}
    more = {"role": "user", "content": "B?"}
    log = [
        call([asked], said("A.")),
        # the server compacted within the call, and the client went on with all items
        call([asked, said("A."), more], sealed, said("B.")),
        call([asked, said("A."), more, sealed, said("B."), asked], said("A again.")),
    ]
    (first, second), rejected = read_lines(tmp_path, log)
    assert rejected == []
    note = "[compaction left out on import]"
    assert told(first) == ("openai_responses", ["A?"], [("A.", None)])
    assert told(second) == (
        "openai_responses/continued",
        [note],
        [("B.", "after_unseen_content"), ("A again.", "after_unseen_content")],
    )


def test_a_session_of_pi_follows_its_branch_and_its_compactions(tmp_path: Path) -> None:
    def said(name: str, parent: str | None, role: str, words: str) -> dict[str, Any]:
        message = {"role": role, "content": _text(words)}
        return {"type": "message", "id": name, "parentId": parent, "message": message}

    lines = [
        {"type": "session", "version": 3, "id": "s", "cwd": "/x"},
        said("1", None, "user", "Ask."),
        said("2", "1", "assistant", "Left."),
        said("3", "1", "assistant", "One."),
        said("4", "3", "user", "More."),
        said("5", "4", "assistant", "Two."),
        {
            "type": "compaction",
            "id": "6",
            "parentId": "5",
            "summary": "S.",
            "firstKeptEntryId": "4",
        },
        said("7", "6", "user", "Last."),
        said("8", "7", "assistant", "Three."),
    ]
    (first, second), (left,) = read_lines(tmp_path, lines)
    assert (left.reason, left.detail) == (
        "abandoned_branch",
        "1 messages that the user went back on",
    )
    assert told(first)[1:] == (["Ask."], [("One.", None), ("Two.", None)])
    assert told(second) == (
        "sts/continued",
        ["S.", "More."],
        [("Two.", "not_trained"), ("Three.", None)],
    )


def test_a_compacted_sample_of_inspect_is_what_its_calls_were_shown(tmp_path: Path) -> None:
    def message(name: str, role: str, words: str) -> dict[str, Any]:
        return {"id": name, "role": role, "content": words}

    def call(answer: dict[str, Any], *sent: dict[str, Any]) -> dict[str, Any]:
        output = {"choices": [{"message": answer}]}
        return {"event": "model", "input": list(sent), "output": output, "tools": []}

    asked, one = message("u1", "user", "Q?"), message("a1", "assistant", "One.")
    more, two = message("u2", "user", "And?"), message("a2", "assistant", "Two.")
    summary, three = message("u3", "user", "Summary."), message("a3", "assistant", "Three.")
    sample = {
        "id": 1,
        "epoch": 1,
        "input": "Q?",
        "target": "",
        "messages": [asked, one, more, two, summary, three],
        "events": [
            call(one, asked),
            call(two, asked, one, more),
            {"event": "compaction", "type": "summary"},
            call(three, summary, two),
        ],
        "scores": {"s": {"value": 1}},
    }
    log = {"version": 2, "status": "success", "eval": {"task": "t"}, "samples": [sample]}
    (first, second), _ = read_document(tmp_path, log)
    assert told(first) == ("inspect/t", ["Q?"], [("One.", None), ("Two.", None)])
    assert told(second) == (
        "inspect/t/continued",
        ["Summary."],
        [("Two.", COPY), ("Three.", None)],
    )
    assert second.trajectory.outcome == "success"
