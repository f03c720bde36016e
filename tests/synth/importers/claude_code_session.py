"""A session of Claude Code."""

from typing import Any

from tests.synth.importers.claude_code_lines import line, text


def use(name: str, **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": name, "name": "Read", "input": given}


def result(name: str, content: Any, **fields: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": name, "content": content, **fields}


USAGE = {
    "input_tokens": 3,
    "cache_creation_input_tokens": 20,
    "cache_read_input_tokens": 100,
    "output_tokens": 1,
}


SESSION = [
    {"type": "summary", "summary": "Reading files", "leafUuid": "z"},
    {"type": "file-history-snapshot", "messageId": "u1", "snapshot": {}},
    line("user", "u0", None, "Caveat: the messages below ...", isMeta=True),
    line("user", "u1", "u0", "What is in a and b?"),
    line(
        "assistant",
        "a1",
        "u1",
        [{"type": "thinking", "thinking": "Two files.", "signature": "c2ln"}],
        id="m1",
        model="m-1",
        usage=USAGE,
    ),
    line("assistant", "a2", "a1", [text("Reading.")], id="m1", model="m-1", usage=USAGE),
    line("assistant", "a3", "a2", [use("t1", path="a")], id="m1", model="m-1", usage=USAGE),
    line("user", "r1", "a3", [result("t1", "A")], toolUseResult={"file": "a"}),
    line(
        "assistant",
        "a4",
        "a3",
        [use("t2", path="b")],
        id="m1",
        model="m-1",
        usage={**USAGE, "output_tokens": 40},
    ),
    line("user", "r2", "a4", [result("t2", [text("no such file")], is_error=True)]),
    line("assistant", "a5", "r2", [text("A, and no b.")], id="m2", model="m-1", usage=USAGE),
    line("system", "s1", "a5", subtype="turn_duration"),
]
