"""Tools that the provider ran within a call are calls with results: none is lost, none of their
results carries loss, and what the model went on from without our seeing it carries none either.
"""

from pathlib import Path
from typing import Any

import pytest

from synth.importers.records import Imported
from synth.importers.tally import unread
from synth.text.provenance.linter import provenance
from tests.synth.importers.imports import read_document, read_lines

ASKED = "Who won?"
Played = list[tuple[str | None, str | None, list[Any], list[tuple[str, bool]]]]


def played(found: Imported) -> Played:
    """Each turn: its mask, its words, its calls, what the tools gave back."""
    return [
        (
            turn.mask,
            turn.content,
            [(call.name, call.parsed()) for call in turn.tool_calls],
            [(one.content, one.error) for one in turn.observations],
        )
        for turn in found.trajectory.turns
    ]


def of_responses(folder: Path, *items: dict[str, Any]) -> Imported:
    """One call of OpenAI's Responses API."""
    response = {"id": "r", "object": "response", "model": "m", "output": list(items)}
    ((found,), rejected) = read_lines(
        folder, [{"request": {"model": "m", "input": ASKED}, "response": response}]
    )
    assert rejected == []
    return found


def words(text: str) -> dict[str, Any]:
    """A message of the model, as an item."""
    parts = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "id": "m1", "role": "assistant", "content": parts}


def of_anthropic(folder: Path, *blocks: dict[str, Any]) -> Imported:
    """One call of Anthropic's API."""
    request = {"model": "m", "messages": [{"role": "user", "content": ASKED}]}
    response = {"type": "message", "role": "assistant", "model": "m", "content": list(blocks)}
    ((found,), _) = read_lines(
        folder, [{"request": request, "response": response | {"stop_reason": "end_turn"}}]
    )
    return found


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


SEARCH = "[web_search_result left out on import]"


def test_a_search_is_a_call_whose_pages_nobody_saw(tmp_path: Path) -> None:
    action = {"type": "search", "query": "cup", "sources": [{"type": "url", "url": "u"}]}
    call = {"type": "web_search_call", "id": "ws", "status": "completed", "action": action}
    found = of_responses(tmp_path, call, words("She did."))
    assert played(found) == [
        (
            "provider_run",
            None,
            [("web_search", {"type": "search", "query": "cup"})],
            [(f'[{{"type": "url", "url": "u"}}]\n{SEARCH}', False)],
        ),
        ("after_unseen_content", "She did.", [], []),
    ]
    assert unread(found.trajectory) == {"web_search_result": 1}
    assert ("provider_calls", 1.0) in [(mark.metric, mark.value) for mark in found.marks]
    assert provenance(found.trajectory).findings == ()


@pytest.mark.parametrize(
    ("item", "call", "given"),
    [
        (
            {"type": "code_interpreter_call", "code": "1+1", "outputs": [{"logs": "2\n"}]},
            ("code_interpreter", {"code": "1+1"}),
            "2\n",
        ),
        (
            {"type": "code_interpreter_call", "code": "1+1", "outputs": None},
            ("code_interpreter", {"code": "1+1"}),
            "[code_interpreter_output left out on import]",
        ),
        (
            {"type": "file_search_call", "queries": ["q"], "results": [{"text": "t"}]},
            ("file_search", {"queries": ["q"]}),
            '[{"text": "t"}]',
        ),
        (
            {"type": "file_search_call", "queries": ["q"], "results": None},
            ("file_search", {"queries": ["q"]}),
            "[file_search_result left out on import]",
        ),
        (
            {"type": "image_generation_call", "revised_prompt": "a cat", "result": "aGk="},
            ("image_generation", {"prompt": "a cat"}),
            "[image left out on import]",
        ),
    ],
)
def test_what_the_log_holds_of_a_result_is_shown(
    tmp_path: Path, item: dict[str, Any], call: Any, given: str
) -> None:
    found = of_responses(tmp_path, {"id": "i", "status": "completed"} | item, words("So."))
    (run, after) = played(found)
    assert (run[0], run[2], run[3]) == ("provider_run", [call], [(given, False)])
    assert after[0] == ("after_unseen_content" if "left out" in given else None)


def test_a_call_of_a_server_that_the_client_named_is_a_call_like_any_other(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"repo": {"type": "string"}}}
    listed = {"name": "issues", "description": "d", "input_schema": schema}
    tools = {"type": "mcp_list_tools", "id": "l", "server_label": "gh", "tools": [listed]}
    call: dict[str, Any] = {"type": "mcp_call", "id": "c", "server_label": "gh", "name": "issues"}
    call |= {"arguments": '{"repo":"a/b"}', "output": "[1]", "error": None}
    found = of_responses(tmp_path, tools, call, words("One."))
    assert played(found) == [
        (None, None, [("issues", {"repo": "a/b"})], [("[1]", False)]),
        (None, "One.", [], []),
    ]
    (tool,) = found.trajectory.tools
    assert tool["function"]["name"] == "issues"
    assert tool["function"]["parameters"] == schema


def test_an_item_that_nobody_knows_leaves_a_note_and_refuses_nothing(tmp_path: Path) -> None:
    found = of_responses(tmp_path, {"type": "novel_thing", "id": "n"}, words("So."))
    assert unread(found.trajectory) == {"novel_thing": 1}
    assert [turn.mask for turn in found.trajectory.turns] == ["after_unseen_content"]


def test_server_tools_of_anthropic_part_an_answer_where_they_ran(tmp_path: Path) -> None:
    asked = {"type": "server_tool_use", "id": "s", "name": "bash_code_execution"}
    gave = {"type": "bash_code_execution_result", "stdout": "55\n", "return_code": 0}
    found = of_anthropic(
        tmp_path,
        text("I run it."),
        asked | {"input": {"command": "seq"}},
        {"type": "bash_code_execution_tool_result", "tool_use_id": "s", "content": gave},
        text("55. Now yours."),
        {"type": "tool_use", "id": "t", "name": "clock", "input": {}},
    )
    first, second = played(found)
    assert first[:3] == (
        "provider_run",
        "I run it.",
        [("bash_code_execution", {"command": "seq"})],
    )
    assert '"stdout": "55\\n"' in first[3][0][0]
    assert second == (None, "55. Now yours.", [("clock", {})], [])


def test_what_is_encrypted_is_noted_and_errors_are_errors(tmp_path: Path) -> None:
    page = {"type": "web_search_result", "url": "u", "title": "t", "encrypted_content": "Eq=="}
    call = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "q"}}
    given = {"type": "web_search_tool_result", "tool_use_id": "s", "content": [page]}
    found = of_anthropic(tmp_path, call, given, text("So."))
    (content, failed) = played(found)[0][3][0]
    assert '"url": "u"' in content
    assert "Eq==" not in content
    assert content.endswith("[encrypted_content left out on import]")
    assert not failed
    assert found.trajectory.turns[1].mask == "after_unseen_content"

    error = {"type": "web_search_tool_result_error", "error_code": "unavailable"}
    found = of_anthropic(tmp_path, call, given | {"content": error}, text("So."))
    assert played(found)[0][3][0][1] is True
    assert found.trajectory.turns[1].mask is None


def test_a_result_that_comes_with_the_next_response_answers_the_call_before_it(
    tmp_path: Path,
) -> None:
    def call(messages: list[Any], *blocks: Any) -> dict[str, Any]:
        response = {"type": "message", "role": "assistant", "model": "m", "stop_reason": "x"}
        return {"request": {"model": "m", "messages": messages}, "response": response} | {
            "response": response | {"content": list(blocks)}
        }

    asked = {"type": "server_tool_use", "id": "s", "name": "code", "input": {}}
    gave = {"type": "code_execution_tool_result", "tool_use_id": "s", "content": {"stdout": "2"}}
    person = {"role": "user", "content": ASKED}
    paused = {"role": "assistant", "content": [text("I run it."), asked]}
    log = [call([person], text("I run it."), asked), call([person, paused], gave, text("Two."))]
    ((found,), _) = read_lines(tmp_path, log)
    assert played(found) == [
        ("provider_run", "I run it.", [("code", {})], [('{"stdout": "2"}', False)]),
        (None, "Two.", [], []),
    ]


def test_gemini_ran_code_within_the_answer_and_searched_beside_it(tmp_path: Path) -> None:
    code = {"executableCode": {"language": "PYTHON", "code": "print(2)"}}
    gave = {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "2\n"}}
    asked = {"contents": [{"role": "user", "parts": [{"text": ASKED}]}], "model": "g"}
    ran = {"content": {"role": "model", "parts": [code, gave, {"text": "Two."}]}}
    ((found,), _) = read_lines(tmp_path, [{"request": asked, "response": {"candidates": [ran]}}])
    assert played(found) == [
        (
            "provider_run",
            None,
            [("code_execution", {"language": "PYTHON", "code": "print(2)"})],
            [("2\n", False)],
        ),
        (None, "Two.", [], []),
    ]

    grounded = {"webSearchQueries": ["cup"], "groundingChunks": [{"web": {"uri": "u"}}]}
    answer = {"role": "model", "parts": [{"text": "Spain."}]}
    first = {"candidates": [{"content": answer, "groundingMetadata": grounded}]}
    more = [*asked["contents"], answer, {"role": "user", "parts": [{"text": "Sure?"}]}]
    last = {"candidates": [{"content": {"role": "model", "parts": [{"text": "Yes."}]}}]}
    ((found,), _) = read_lines(
        tmp_path,
        [
            {"request": asked, "response": first},
            {"request": asked | {"contents": more}, "response": last},
        ],
    )
    # what stands beside an answer is not sent again, and parts no conversation
    assert [turn.content for turn in found.trajectory.turns] == [None, "Spain.", "Yes."]
    assert played(found)[0][2] == [("google_search", {"queries": ["cup"]})]
    assert [turn.mask for turn in found.trajectory.turns][1:] == 2 * ["after_unseen_content"]


def test_a_tool_that_ran_at_the_provider_is_told_in_the_vercel_sdk(tmp_path: Path) -> None:
    part: dict[str, Any] = {"type": "tool-search", "toolCallId": "w", "state": "output-available"}
    part |= {"input": {"query": "q"}, "output": [{"url": "u"}], "providerExecuted": True}
    chat = [
        {"role": "user", "parts": [text(ASKED)]},
        {"role": "assistant", "parts": [{"type": "step-start"}, part, text("So.")]},
    ]
    ((found,), _) = read_document(tmp_path, {"messages": chat})
    assert played(found) == [
        ("provider_run", None, [("search", {"query": "q"})], [('[{"url": "u"}]', False)]),
        (None, "So.", [], []),
    ]


def test_citations_of_a_completion_rest_on_pages_that_nobody_saw(tmp_path: Path) -> None:
    cited = {"type": "url_citation", "url_citation": {"url": "u"}}
    answer = {"role": "assistant", "content": "Spain.", "annotations": [cited]}
    chat = [{"role": "user", "content": ASKED}, answer]
    ((found,), _) = read_document(tmp_path, {"messages": chat})
    assert [turn.mask for turn in found.trajectory.turns] == ["unread_block"]
    assert unread(found.trajectory) == {"url_citation": 1}
