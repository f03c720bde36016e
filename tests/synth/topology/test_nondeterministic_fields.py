"""What replays answer differently is masked from then on; what a task or its check asks for never
is.
"""

import json
from typing import Any

import msgspec

from synth.schemas.check import Check, RowPredicate, Tell
from synth.schemas.task import Task
from synth.schemas.trajectory import Observation
from synth.topology.keys import trajectory_keys
from synth.topology.nondeterminism.fields import (
    Asked,
    Compared,
    Field,
    as_masks,
    nondeterministic_fields,
)
from synth.topology.nondeterminism.masking import Nondeterminism
from tests.synth.topology.trials import trial, turn

RECORDED = {
    "request": "q-17",
    "total": 57,
    "lines": [{"at": "t1", "name": "cup"}, {"at": "t2", "name": "pot"}],
}
AGAIN = [
    RECORDED
    | {
        "request": f"q-{n}",
        "lines": [{"at": f"u{n}", "name": "cup"}, {"at": f"v{n}", "name": "pot"}],
    }
    for n in (18, 19)
]


def compared(*replays: object, tool: str = "get_order") -> list[Compared]:
    return [Compared(tool, json.dumps(RECORDED), json.dumps(replay)) for replay in replays]


def task(**changes: Any) -> Task:
    return Task(**{"task_id": "t", "env": "e", "goal": "What do I owe?"} | changes)


def masked(found: list[Field]) -> set[str]:
    return {one.place for one in found if one.refused is None}


def nodes(answers: list[object], found: list[Field]) -> set[str]:
    trials = [
        trial(f"T{at}", [turn(0, "get_order", json.dumps(answer))], True)
        for at, answer in enumerate(answers)
    ]
    return {
        trajectory_keys(one, Nondeterminism({}, {}, *as_masks(found)))[0].turn for one in trials
    }


def test_places_that_differ_are_learned_and_their_turns_become_one() -> None:
    found = nondeterministic_fields(compared(*AGAIN), Asked.by([task()]))
    assert masked(found) == {".request", ".lines[].at"}
    assert len(nodes([RECORDED, *AGAIN], [])) == 3
    assert len(nodes([RECORDED, *AGAIN], found)) == 1
    assert len(nodes([RECORDED, RECORDED | {"total": 58}], found)) == 2, (
        "another result stays another turn"
    )


def test_another_tool_with_the_same_field_is_not_masked() -> None:
    found = nondeterministic_fields(compared(*AGAIN, tool="get_cart"), Asked.by([task()]))
    assert len(nodes([RECORDED, *AGAIN], found)) == 3


def test_what_differed_once_or_seldom_is_no_nondeterministic_field() -> None:
    once = nondeterministic_fields(compared(AGAIN[0], RECORDED), Asked())
    assert {one.refused for one in once} == {"seldom"}
    seldom = nondeterministic_fields(compared(*AGAIN, *[RECORDED] * 3), Asked())
    assert {
        (one.place, one.compared, one.differing, one.refused)
        for one in seldom
        if one.place == ".request"
    } == {(".request", 5, 2, "seldom")}


def test_a_total_that_drifts_is_masked_only_where_nobody_asks_for_it() -> None:
    drifting = compared(*(replay | {"total": 80 + n} for n, replay in enumerate(AGAIN)))
    asking = {
        "told": task(check=Check(told=(Tell("number", 57, "what is owed"),))),
        "goal": task(goal="Tell me whether I owe 57 dollars."),
        "column": task(check=Check(required=(RowPredicate("orders", {"id": "W1", "total": 99}),))),
        "gold": task(gold=turn(0, "pay", amount=57).tool_calls),
        "script": task(script={"expects": {"amount": "57"}}),
    }
    assert ".total" in masked(nondeterministic_fields(drifting, Asked.by([task()]))), (
        "without anybody asking it would be masked"
    )
    for why, one in asking.items():
        found = nondeterministic_fields(drifting, Asked.by([task(), one]))
        assert ".total" not in masked(found), why
        assert {field.refused for field in found if field.place == ".total"} <= {
            "asked_for",
            "checked_column",
        }
        assert masked(found) == {".request", ".lines[].at"}, (
            "what nobody asks for is learned all the same"
        )
        assert len(nodes([RECORDED, RECORDED | {"total": 80}], found)) == 2


def test_answers_of_another_shape_teach_nothing() -> None:
    assert (
        nondeterministic_fields(
            compared(RECORDED | {"more": 1}, ["x"], RECORDED | {"lines": []}), Asked()
        )
        == []
    )


def test_words_are_learned_by_their_shape_after_the_word_before_them() -> None:
    pairs = [
        Compared("open", "session id a81f done, 3 left", f"session id b{n}c done, 3 left")
        for n in ("02", "03")
    ]
    found = nondeterministic_fields(pairs, Asked())
    masks = Nondeterminism({}, {}, *as_masks(found))

    def key(said: str) -> str:
        return trajectory_keys(trial("T", [turn(0, "open", said)], True), masks)[0].observation

    assert key("session id q77z done, 3 left") == key("session id a81f done, 3 left")
    assert key("session id q77z done, 4 left") != key("session id a81f done, 3 left")
    assert key("order q77z") != key("order a81f")


def test_a_learned_field_is_read_back_as_it_was_written() -> None:
    for one in nondeterministic_fields(compared(*AGAIN), Asked()):
        assert msgspec.convert(msgspec.to_builtins(one), Field) == one


def test_what_the_user_says_is_masked_for_no_tool() -> None:
    said = Observation("session id a81f", name=None)
    assert as_masks(
        nondeterministic_fields(
            [
                Compared("", said.content, "session id b1c"),
                Compared("", said.content, "session id c2d"),
            ],
            Asked(),
        )
    )[1] == {"": (r"(?<=id\s)[a-z]+\d+[a-z]+",)}
