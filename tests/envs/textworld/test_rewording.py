"""Goals of TextWorld in anybody's words, read by the names of a game's things."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip(
    "synth.envs.textworld",
    reason="the extra is missing: pip install -c constraints.txt -e '.[textworld]'",
    exc_type=ImportError,
)

from synth.envs.textworld.commands import Command
from synth.envs.textworld.rewording.reader import read

KINDS = {
    "safe": "c",
    "type 9 locker": "c",
    "hatch": "d",
    "onion": "f",
    "dvd": "o",
    "pillow": "o",
    "basement": "r",
    "desk": "s",
    "mantelpiece": "s",
}


@pytest.mark.parametrize(
    ("goal", "wish"),
    [
        ("Could you put the dvd on the mantelpiece, please?", ("put", "dvd", "mantelpiece")),
        ("On the desk, please set down the pillow.", ("put", "pillow", "desk")),
        ("Hi! Please pick up the onion. Thanks a lot!", ("take", "onion")),
        ("The dvd should end up in the type 9 locker.", ("insert", "dvd", "type 9 locker")),
        ("Please leave the dvd behind in the basement.", ("drop", "dvd", "basement")),
        ("What I want is the safe to be open.", ("open", "safe")),
        ("Make sure that the hatch is shut.", ("close", "hatch")),
        ("Unlock the type 9 locker, but don't open it.", ("unlock", "type 9 locker")),
        ("Hello there. The onion should be eaten up, by you. Thanks!", ("eat", "onion")),
        ("Dvd onto the desk.", ("put", "dvd", "desk")),
        ("The dvd should be placed on the desk.", ("put", "dvd", "desk")),
    ],
)
def test_a_wish_is_read_in_other_words(goal: str, wish: tuple[str, ...]) -> None:
    assert read(goal, KINDS) == [Command(wish[0], wish[1:])]


@pytest.mark.parametrize(
    "goal",
    [
        "Do not open the safe.",
        "Never put the dvd on the desk.",
        "onion. the Eat",
        "Put the dvd in the desk.",  # a desk holds things on it
        "Open or close the safe.",
        "Take the dvd and put it on the desk.",
        "Put the dvd on the desk. The pillow is nice.",
        "The safe.",
        "",
    ],
)
def test_what_says_nothing_or_more_than_one_thing_is_not_read(goal: str) -> None:
    assert read(goal, KINDS) == []


def test_several_wishes_are_read_in_their_order() -> None:
    goal = "First open the hatch, please. After that, eat the onion! Thank you."
    assert read(goal, KINDS) == [Command("open", ("hatch",)), Command("eat", ("onion",))]


@given(st.permutations(["Put", "the", "dvd", "on", "the", "mantelpiece", "please", "now"]))
def test_shuffled_words_are_read_only_where_each_name_has_its_verb_and_place(
    words: list[str],
) -> None:
    text = " ".join(words).casefold()
    read_as = read(text, KINDS)
    assert read_as in ([], [Command("put", ("dvd", "mantelpiece"))])
    assert not read_as or "on the mantelpiece" in text
