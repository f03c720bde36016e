"""One row per turn in TRL's form: what a mask would have said stands as prompt and completion;
token ids where the ledger has them.
"""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from synth.schemas.errors import ConfigError
from synth.schemas.text.messages import GREETING_MASK
from synth.schemas.trajectory import Observation, SampledBy, Source, Trajectory, Turn
from tests.synth.exporters.solved import call, export, result, trajectory

IDS = {"prompt_token_ids": (1, 2, 3), "completion_token_ids": (4, 5), "logprobs": (-0.5, -0.25)}


def retry(**fields: Any) -> tuple[Turn, ...]:
    """A turn before the pivot, a call and an answer after it."""
    before = Turn(
        index=0,
        content="wrong way",
        thought="hm",
        tool_calls=(call("{}", "c0"),),
        observations=(result("no", "c0"),),
    )
    again = Turn(index=1, tool_calls=(call('{"q": 1}'),), observations=(result(),), **fields)
    return before, again, Turn(index=2, content="Here.")


def test_a_retry_with_a_masked_prefix_reaches_trl_as_prompts_and_completions(
    tmp_path: Path,
) -> None:
    rows, report = export(
        tmp_path, trajectory(turns=retry(), pivot_turn=1), keep_masked=False, unroll="per_turn"
    )
    assert [[m["role"] for m in row["completion"]] for row in rows] == [
        ["assistant"],
        ["assistant"],
    ]
    assert [row["turn"] for row in rows] == [1, 2]
    assert rows[0]["completion"][0]["tool_calls"][0]["function"]["arguments"] == {"q": 1}
    assert [m["content"] for m in rows[0]["prompt"]] == ["Help.", "Where is it?", "wrong way", "no"]
    assert rows[1]["prompt"] == [*rows[0]["prompt"], *rows[0]["completion"], rows[1]["prompt"][-1]]
    assert not any("reasoning_content" in message for row in rows for message in row["prompt"])
    assert (report.rows, report.trained_turns, dict(report.left_out), dict(report.masked)) == (
        2,
        2,
        {},
        {},
    )
    assert (report.loss, report.loss_unit) == (
        len("find") + len("{'q': 1}") + len("Here."),
        "characters",
    )


def test_without_unrolling_it_is_left_out_and_the_remedy_is_named(tmp_path: Path) -> None:
    whole = trajectory("whole")
    rows, report = export(
        tmp_path,
        whole,
        trajectory("r", turns=retry(), pivot_turn=1),
        keep_masked=False,
        unroll="whole",
    )
    assert [row["trajectory_id"] for row in rows] == ["whole"]
    assert report.left_out == {"masked_turns:before_pivot": 1}
    assert any("; unroll: per_turn gives one row per turn" in note for note in report.notes)


def test_token_ids_are_those_that_were_sampled_and_null_where_the_ledger_has_none(
    tmp_path: Path,
) -> None:
    rows, _ = export(tmp_path, trajectory(turns=retry(**IDS), pivot_turn=1), unroll="per_turn")
    assert [
        (row["prompt_token_ids"], row["completion_token_ids"], row["logprobs"]) for row in rows
    ] == [
        ([1, 2, 3], [4, 5], [-0.5, -0.25]),
        (None, None, None),
    ]
    both = tuple(msgspec.structs.replace(turn, **IDS) for turn in trajectory().turns)
    (row,), _ = export(tmp_path / "whole", trajectory(turns=both))
    assert (row["trained_turns"], row["completion_token_ids"]) == ([0, 1], [[4, 5], [4, 5]])


def test_auto_has_what_a_retry_repeats_in_the_prompt_and_the_rest_in_one_row(
    tmp_path: Path,
) -> None:
    """Of a retry from turn 1 on, turns 1 and 2 carry loss; of a whole trajectory both turns do."""
    whole, part = trajectory("whole"), trajectory("r", turns=retry(), pivot_turn=1)
    rows, report = export(tmp_path / "both", whole, part, keep_masked=False)
    learnt = [(row["trajectory_id"], row["trained_turns"]) for row in rows]
    assert learnt == [("whole", [0, 1]), ("r", [1, 2])]
    assert [message["content"] for message in rows[1]["prompt"]][-2:] == ["wrong way", "no"]
    assert not report.left_out

    rows, _ = export(tmp_path / "whole", whole, keep_masked=False)
    assert [row["trained_turns"] for row in rows] == [[0, 1]]


def greeted(trajectory_id: str = "g") -> Trajectory:
    """A greeting that nobody sampled, a call and an answer after it."""
    greeting = Turn(
        index=0,
        content="Hi! How can I help?",
        observations=(Observation("A refund.", Source.USER),),
        sampled_by=SampledBy.CANNED,
        mask=GREETING_MASK,
    )
    _, *after = retry()
    return trajectory(trajectory_id, turns=(greeting, *after))


def test_a_greeting_stands_in_the_prompt_and_the_rest_is_one_row(tmp_path: Path) -> None:
    rows, report = export(tmp_path, greeted(), trajectory("whole"), keep_masked=False)
    by_id = {row["trajectory_id"]: row for row in rows}
    assert [message["role"] for message in by_id["g"]["prompt"]][-2:] == ["assistant", "user"]
    assert [message["role"] for message in by_id["g"]["completion"]] == [
        "assistant",
        "tool",
        "assistant",
    ]
    assert by_id["g"]["trained_turns"] == [1, 2]
    assert by_id["whole"]["completion"][0]["role"] == "assistant"
    assert report.left_out == {}
    card = (tmp_path / "out" / "README.md").read_text()
    assert "completion_only_loss=True" in card
    assert "assistant_only_loss=True" in card


def between() -> Trajectory:
    """Five turns, of which the third and the last carry no loss."""
    turns = [
        Turn(
            index, tool_calls=(call("{}", f"c{index}"),), observations=(result("no", f"c{index}"),)
        )
        for index in range(5)
    ]
    turns[2] = msgspec.structs.replace(turns[2], mask="excursion")
    turns[4] = msgspec.structs.replace(turns[4], mask="excursion")
    return trajectory("b", turns=tuple(turns))


def test_a_turn_without_loss_in_between_cuts_that_trajectory_alone(tmp_path: Path) -> None:
    whole = trajectory("whole")
    rows, report = export(tmp_path, whole, between(), keep_masked=False)
    learnt = [(row["trajectory_id"], row["trained_turns"]) for row in rows]
    assert learnt == [("whole", [0, 1]), ("b", [0, 1]), ("b", [3])]
    # what carries loss is all that the assistant says in the completion
    assert [[one["role"] for one in row["completion"]] for row in rows[1:]] == [
        ["assistant", "tool", "assistant"],
        ["assistant"],
    ]
    assert [turn["reason"] for turn in rows[2]["masked_turns"]] == [
        "before_this_turn",
        "before_this_turn",
        "excursion",
    ]
    # turn 2 counts once; turn 4 stands in no row
    assert (report.trained_turns, dict(report.masked)) == (5, {"excursion": 1})
    assert any(note.startswith("1 trajectories stand in several rows") for note in report.notes)


def test_the_same_cut_is_had_by_name(tmp_path: Path) -> None:
    rows, _ = export(tmp_path, between(), keep_masked=False, unroll="context")
    assert [row["trained_turns"] for row in rows] == [[0, 1], [3]]


def test_a_greeting_that_is_learnt_as_it_is_stands_in_no_prompt(tmp_path: Path) -> None:
    """`whole` leaves it out, as before."""
    rows, report = export(
        tmp_path, greeted(), trajectory("whole"), unroll="whole", keep_masked=False
    )
    assert [row["trajectory_id"] for row in rows] == ["whole"]
    assert report.left_out == {"masked_turns:canned_greeting": 1}


def test_a_form_without_a_context_says_which_has_one(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match="cannot be written with a context; trl, llamafactory can"
    ):
        export(tmp_path, greeted(), form="axolotl", unroll="context")


def answered(*calls: str) -> tuple[Turn, ...]:
    """Turns with a call each, by their arguments, and a last one in words."""
    turns = [
        Turn(
            index=at,
            tool_calls=(call(arguments, f"c{at}"),),
            observations=(result("ok", f"c{at}"),),
            mask="parse_error" if arguments == "{" else None,
        )
        for at, arguments in enumerate(calls)
    ]
    return (*turns, Turn(index=len(turns), content="Here."))


def test_llamafactory_cuts_the_trajectory_alone_where_rows_of_turns_hold_no_more(
    tmp_path: Path,
) -> None:
    # what is behind arguments that are no object has no place in a row of a turn either
    broken = trajectory("broken", turns=answered('{"q": 1}', '{"q": 2}', "{", '{"q": 3}'))
    whole = trajectory("whole", turns=answered('{"q": 4}'))
    rows, report = export(tmp_path, broken, whole, form="llamafactory", keep_masked=False)
    assert [len(row["conversations"]) for row in rows] == [4, 4]
    assert [row["trained_turns"] for row in rows] == [[0, 1], [0, 1]]
    assert (report.rows, report.trained_turns) == (2, 4)
    assert report.left_out == {"llamafactory:behind_a_turn_without_loss": 1}
    assert report.unparsed_calls == 0
    told = "1 trajectories end before a turn that must carry no loss"
    assert any(note.startswith(told) for note in report.notes)

    rows, report = export(
        tmp_path / "turns", broken, whole, form="llamafactory", keep_masked=False, unroll="per_turn"
    )
    assert (report.rows, report.trained_turns) == (4, 4)
    assert report.left_out == {"llamafactory:broken_arguments": 2}


def test_llamafactory_has_a_row_per_turn_where_these_hold_more(tmp_path: Path) -> None:
    found = (trajectory("r", turns=retry(), pivot_turn=1), trajectory("whole"))
    rows, report = export(tmp_path, *found, form="llamafactory", keep_masked=False)
    assert (report.rows, report.trained_turns, dict(report.left_out)) == (4, 4, {})
    rows, report = export(
        tmp_path / "begun", *found, form="llamafactory", keep_masked=False, unroll="context"
    )
    assert (len(rows), report.trained_turns) == (1, 2)
    assert report.left_out == {"llamafactory:behind_a_turn_without_loss": 1}


def test_a_broken_call_between_two_rows_is_counted_once(tmp_path: Path) -> None:
    found = trajectory("broken", turns=answered('{"q": 1}', "{", '{"q": 3}'))
    _, report = export(tmp_path, found, keep_masked=False)
    assert (report.rows, report.trained_turns, report.unparsed_calls) == (2, 3, 1)


def opened(*said: str, mask: str | None = GREETING_MASK) -> Trajectory:
    """Greetings before the user's first words, then a call and an answer."""
    heard = (Observation("A refund.", Source.USER),)
    greetings = [
        Turn(at, text, mask=mask, observations=heard if at + 1 == len(said) else ())
        for at, text in enumerate(said)
    ]
    _, *after = retry()
    later = [msgspec.structs.replace(one, index=at + len(said)) for at, one in enumerate(after)]
    return trajectory("o", opening=(), turns=(*greetings, *later))


def test_a_greeting_leaves_llamafactory_a_whole_row_with_the_greeting_in_its_prompt(
    tmp_path: Path,
) -> None:
    one = opened("Hi!", "How can I help?")
    (row,), report = export(tmp_path, one, form="llamafactory", keep_masked=False)
    told = [(turn["from"], turn["value"]) for turn in row["conversations"]]
    assert [who for who, _ in told] == ["human", "function_call", "observation", "gpt"]
    assert (told[0][1], told[-1][1]) == ("A refund.", "Here.")
    assert row["system"] == (
        "Help.\n\nYou have already greeted the user with:\nHi!\nHow can I help?"
    )
    assert list(row["trained_turns"]) == [2, 3]
    assert report.left_out == {}
    card = (tmp_path / "out" / "README.md").read_text()
    assert "a greeting, which stands in the system prompt" in card


def test_a_greeting_that_is_to_be_learnt_is_not_put_into_llamafactorys_prompt(
    tmp_path: Path,
) -> None:
    whole = trajectory("whole")
    rows, report = export(tmp_path, opened("Hi!", mask=None), whole, form="llamafactory")
    assert [row["trajectory_id"] for row in rows] == ["whole"]
    assert report.left_out == {"llamafactory:no_alternation": 1}
