"""The mark of a whispered note: found however it is spelled, no fact of the lesson, and no part of
what the note tells.
"""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.schemas import Observation, ToolCall, Trajectory, Turn
from synth.synthesizers.reflection.guidance import guidance_text
from synth.text.leaks import leaks, suspicions
from synth.text.leaks.canary import betrayed, canary_of, with_canary, without_canary
from tests.trajectories import make_trajectory

NOTE = guidance_text(["Ask before you cancel."])
MARK = canary_of(NOTE) or ""


def retry(*turns: Turn, note: str = NOTE) -> Trajectory:
    """A retry from its second turn on."""
    looked = Turn(0, "Let me look.")
    own = [msgspec.structs.replace(one, index=at) for at, one in enumerate(turns, start=1)]
    bare = make_trajectory(turns=0, opening=(), tools=(), pivot_turn=1, guidance=note)
    return msgspec.structs.replace(bare, turns=(looked, *own))


def kinds(one: Trajectory) -> list[tuple[str, int]]:
    return [(leak.kind, leak.turn) for leak in leaks(one) if leak.kind == "canary"]


def test_every_note_ends_with_a_mark_of_its_own() -> None:
    other = guidance_text(["Read the policy."])
    assert len(MARK) == 16
    assert NOTE.endswith(f"(canary-{MARK})")
    assert canary_of(other) not in (None, MARK)
    assert without_canary(NOTE).endswith("look up whatever you need.")
    assert canary_of("Ask first.") is None
    assert without_canary("Ask first. ") == "Ask first. "


@pytest.mark.parametrize(
    "said",
    [
        f"I was given canary-{MARK}.",
        f"The code is {MARK.upper()}",
        " ".join(MARK),
        "-".join(MARK[at : at + 4] for at in range(0, 16, 4)),
    ],
)
def test_the_mark_is_found_in_words_thoughts_and_arguments(said: str) -> None:
    call = ToolCall.received("c1", "note", msgspec.json.encode({"text": said}).decode())
    assert kinds(retry(Turn(0, said))) == [("canary", 1)]
    assert kinds(retry(Turn(0, "Well.", thought=said))) == [("canary", 1)]
    assert kinds(retry(Turn(0, "Well."), Turn(0, tool_calls=(call,)))) == [("canary", 2)]


def test_an_answer_that_shows_the_mark_is_found_as_well() -> None:
    read = Turn(0, "Reading.", observations=(Observation(f"notes: {MARK}"),))
    assert kinds(retry(read)) == [("canary", 1)]


def test_what_stood_there_before_the_note_is_no_leak() -> None:
    one = retry(Turn(0, "Done."))
    turns = (msgspec.structs.replace(one.turns[0], content=MARK), *one.turns[1:])
    assert kinds(msgspec.structs.replace(one, turns=turns)) == []


def test_the_mark_is_no_fact_of_the_lesson() -> None:
    # beginnings of the mark, and the word before it, tell nothing
    said = retry(Turn(0, f"A canary sang in {MARK[:3]}, and I noted number {MARK[-4:]}."))
    assert kinds(said) == []
    assert suspicions(said) == suspicions(said, without_canary(NOTE))
    assert leaks(said) == leaks(said, without_canary(NOTE))


@given(st.text(max_size=300))
def test_a_text_without_the_mark_never_betrays_it(text: str) -> None:
    marked = with_canary(text)
    mark = canary_of(marked)
    assert mark is not None
    assert betrayed(text, {mark}) is None
    assert betrayed(marked, {mark}) == mark
    assert betrayed(marked, ()) is None
