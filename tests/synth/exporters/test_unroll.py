"""One row per turn in TRL's form: what a mask would have said stands as prompt and completion;
token ids where the ledger has them.
"""

from pathlib import Path

import msgspec

from synth.schemas.trajectory import Turn
from tests.synth.exporters.solved import call, export, result, trajectory

IDS = {"prompt_token_ids": (1, 2, 3), "completion_token_ids": (4, 5), "logprobs": (-0.5, -0.25)}


def retry(**fields: object) -> tuple[Turn, ...]:
    """A turn before the pivot, a call and an answer after it."""
    before = Turn(
        index=0,
        content="wrong way",
        thought="hm",
        tool_calls=(call("{}", "c0"),),
        observations=(result("no", "c0"),),
    )
    again = Turn(index=1, tool_calls=(call('{"q": 1}'),), observations=(result(),), **fields)  # type: ignore[arg-type]
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


def test_auto_gives_a_row_per_turn_as_soon_as_one_turn_must_carry_no_loss(tmp_path: Path) -> None:
    """Of a retry from turn 1 on, turns 1 and 2 carry loss; of a whole trajectory both turns do."""
    whole, part = trajectory("whole"), trajectory("r", turns=retry(), pivot_turn=1)
    rows, report = export(tmp_path / "both", whole, part, keep_masked=False)
    learnt = [(row["trajectory_id"], row["trained_turns"]) for row in rows]
    assert learnt == [("whole", [0]), ("whole", [1]), ("r", [1]), ("r", [2])]
    assert not report.left_out

    rows, _ = export(tmp_path / "whole", whole, keep_masked=False)
    assert [row["trained_turns"] for row in rows] == [[0, 1]]
