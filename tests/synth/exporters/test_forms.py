"""What each consumer is given: calls, masks, thoughts and alternation as it wants them, and what it
cannot be told, by name.
"""

import json
from typing import Any

import pytest

from synth.exporters.form import Form, NotRepresentableError
from synth.exporters.forms import atif, axolotl, llamafactory, openai, sts, verl
from synth.exporters.kinds.sft_rows import (
    SftRow,
    joined_answers,
    loss_characters,
    sft_row,
    unrolled,
)
from synth.schemas.trajectory import Observation, SampledBy, Source, ToolCall, Trajectory, Turn
from tests.synth.exporters.solved import FIND, call, result, trajectory

PARALLEL = Turn(
    index=0,
    content="Both at once.",
    thought="two",
    tool_calls=(call('{"q":1}', "a"), call('{"q":2}', "b")),
    observations=(result("one", "a"), result("two", "b")),
)
MASKED = (
    Turn(
        index=0,
        content="wrong",
        injected="mistake",
        observations=(Observation("No.", Source.USER),),
    ),
    Turn(index=1, content="right"),
)


def row(form: Form, *turns: Turn, **fields: Any) -> SftRow:
    chosen = {"turns": turns} if turns else {}
    return sft_row(trajectory(**chosen, **fields), form)


def test_llamafactory_gets_an_alternating_conversation_with_calls_as_json_and_thoughts_inline() -> (
    None
):
    record = llamafactory.SFT.record(row(llamafactory.SFT))
    assert record["system"] == "Help."
    assert record["conversations"] == [
        {"from": "human", "value": "Where is it?"},
        {
            "from": "function_call",
            "value": '<think>\nlook first\n</think>\n\n{"name":"find","arguments":{"q":"ß","n":2}}',
        },
        {"from": "observation", "value": "row"},
        {"from": "gpt", "value": "Here it is."},
    ]
    assert json.loads(record["tools"])[0] == FIND["function"]


def test_llamafactory_joins_answers_of_parallel_calls_and_text_beside_them_is_named() -> None:
    found = row(llamafactory.SFT, PARALLEL, Turn(index=1, content="Done."))
    said = llamafactory.SFT.record(found)["conversations"]
    calls = '[{"name":"find","arguments":{"q":1}},{"name":"find","arguments":{"q":2}}]'
    assert (
        said[1]["value"]
        == f"<think>\ntwo\n</think>\n\nBoth at once.\n<tool_call>{calls}</tool_call>"
    )
    assert said[2] == {
        "from": "observation",
        "value": "one\n</tool_response>\n<tool_response>\ntwo",
    }
    assert any("text beside calls" in name for name in llamafactory.SFT.unsaid(found))


@pytest.mark.parametrize(
    ("turns", "reason"),
    [
        ((Turn(index=0, content="a"), Turn(index=1, content="b")), "two_turns_in_a_row"),
        (
            (
                Turn(
                    index=0,
                    content="a",
                    observations=(Observation("x", Source.ENVIRONMENT, name="system"),),
                ),
                Turn(index=1, content="b"),
            ),
            "system_message_midway",
        ),
        (
            (
                Turn(
                    index=0,
                    tool_calls=(call("{}"),),
                    observations=(result(), Observation("Hm.", Source.USER)),
                ),
                Turn(index=1, content="b"),
            ),
            "no_alternation",
        ),
        (
            (
                Turn(
                    index=0, tool_calls=(call('{"q": "</tool_call>"}'),), observations=(result(),)
                ),
                Turn(index=1, content="b"),
            ),
            "marks_of_calls_in_the_text",
        ),
        (
            (
                Turn(
                    index=0,
                    thought="<tool_call>x</tool_call>?",
                    tool_calls=(call("{}"),),
                    observations=(result(),),
                ),
                Turn(index=1, content="b"),
            ),
            "marks_of_calls_in_the_text",
        ),
        (
            (
                Turn(
                    index=0, content="a", observations=(Observation("Why {{idx}}?", Source.USER),)
                ),
                Turn(index=1, content="b"),
            ),
            "replaced_by_a_number",
        ),
    ],
)
def test_llamafactory_is_given_no_row_that_its_loader_would_drop_or_misread(
    turns: tuple[Turn, ...], reason: str
) -> None:
    with pytest.raises(NotRepresentableError, match=reason):
        llamafactory.SFT.record(row(llamafactory.SFT, *turns))


def test_what_a_user_says_after_a_tool_answered_can_be_joined_to_that_answer() -> None:
    messages = [
        {"role": "tool", "content": "ok"},
        {"role": "user", "content": "Thanks."},
        {"role": "user", "content": "Bye."},
    ]
    assert joined_answers(messages) == [
        {"role": "tool", "content": "ok\n\n[user] Thanks.\n\n[user] Bye."}
    ]
    assert messages[0]["content"] == "ok"


def test_axolotl_is_told_per_message_whether_it_carries_loss_and_gets_arguments_as_text() -> None:
    record = axolotl.SFT.record(row(axolotl.SFT, *MASKED))
    assert [(m["role"], m["training"]) for m in record["messages"]] == [
        ("system", False),
        ("user", False),
        ("assistant", False),
        ("user", False),
        ("assistant", True),
    ]
    (message,) = [m for m in axolotl.SFT.record(row(axolotl.SFT))["messages"] if m["tool_calls"]]
    assert message["tool_calls"][0]["function"]["arguments"] == '{"q": "ß", "n": 2}'
    assert axolotl.SFT.read is not None
    read = axolotl.SFT.read(axolotl.SFT.record(row(axolotl.SFT, *MASKED)))
    assert (read.trained, read.messages[2]) == ((1,), {"role": "assistant", "content": "wrong"})


def test_openai_lines_keep_parallel_calls_and_weigh_masked_messages_with_nothing() -> None:
    line = json.loads(openai.SFT.record(row(openai.SFT, *MASKED))["line"])
    assert [m.get("weight") for m in line["messages"] if m["role"] == "assistant"] == [0, None]
    found = row(openai.SFT, PARALLEL, Turn(index=1, content="Done."))
    calls = json.loads(openai.SFT.record(found)["line"])["messages"][2]["tool_calls"]
    assert [(c["id"], c["function"]["arguments"]) for c in calls] == [
        ("a", '{"q":1}'),
        ("b", '{"q":2}'),
    ]
    assert "thoughts" in openai.SFT.unsaid(found)


def test_verl_gets_messages_and_schemas_as_text_so_that_no_key_is_filled_with_null() -> None:
    record = verl.SFT.record(row(verl.SFT))
    assert json.loads(record["tools"])[0] == FIND
    assert json.loads(record["messages"])[2]["tool_calls"][0]["function"]["arguments"] == {
        "q": "ß",
        "n": 2,
    }
    assert b"class SynthSFTDataset" in verl.SFT.beside(())["synth_verl.py"]


def test_an_atif_document_numbers_its_steps_and_keeps_what_has_no_place_under_one_key() -> None:
    greeting = Turn(index=1, content="Hi", sampled_by=SampledBy.CANNED)
    document = json.loads(atif.SFT.record(row(atif.SFT, PARALLEL, greeting))["text"])
    assert document["schema_version"] == "ATIF-v1.7"
    assert [(s["step_id"], s["source"]) for s in document["steps"]] == [
        (1, "system"),
        (2, "user"),
        (3, "agent"),
        (4, "agent"),
    ]
    answered = document["steps"][2]["observation"]["results"]
    assert answered == [
        {"source_call_id": "a", "content": "one"},
        {"source_call_id": "b", "content": "two"},
    ]
    assert document["steps"][3]["extra"] == {
        "synth": {"mask": "canned_greeting", "sampled_by": "canned"}
    }
    assert document["extra"]["synth"]["outcome"] == "success"
    assert set(document["extra"]) == {"synth"}


def test_atif_has_no_place_for_arguments_that_are_no_object() -> None:
    with pytest.raises(NotRepresentableError, match="broken_arguments"):
        atif.SFT.record(
            row(atif.SFT, Turn(index=0, tool_calls=(ToolCall.received("c1", "find", "{oops"),)))
        )


def test_a_session_trace_is_a_header_and_a_line_per_message_with_arguments_as_received() -> None:
    text = sts.SFT.record(row(sts.SFT))["text"]
    header, *messages = map(json.loads, text.splitlines())
    assert (header["type"], header["harness"], header["id"]) == ("session", "synth", "t1")
    said = [line["message"] for line in messages]
    assert [m["role"] for m in said] == ["system", "user", "assistant", "tool", "assistant"]
    assert said[2]["toolCalls"] == [
        {"id": "c1", "function": {"name": "find", "arguments": '{"q": "ß", "n": 2}'}}
    ]
    assert (said[2]["reasoningContent"], said[3]["toolCallId"]) == ("look first", "c1")


def test_one_row_per_turn_shows_the_past_without_thoughts_and_trains_that_turn() -> None:
    source: Trajectory = trajectory(
        turns=(*trajectory().turns, Turn(index=2, content="Else?", mask="failed_excursion"))
    )
    whole = sft_row(source, axolotl.SFT)
    first, second = unrolled(whole)
    assert (first.trained, first.messages[-1]["reasoning_content"], len(first.messages)) == (
        (0,),
        "look first",
        3,
    )
    assert (second.trained, second.messages[-1]["content"], second.turn) == ((1,), "Here it is.", 1)
    assert "reasoning_content" not in second.messages[2]
    assert "reasoning_content" in [*unrolled(whole, past_thoughts=True)][1].messages[2]
    assert loss_characters(first) + loss_characters(second) == loss_characters(whole)
    assert loss_characters(second) == len("Here it is.")
