"""Windows: about one thing, short, and played alone or with no more than they need."""

import asyncio
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from synth.schemas.check import Facts
from synth.schemas.environment import AgentTurn
from synth.schemas.reverse import Change, Operation
from synth.synthesizers.reverse.check_predicates import operation_signature
from synth.synthesizers.reverse.subtrajectories import (
    Cutter,
    Entities,
    Segment,
    windows,
)
from tests.synthesizers.reverse.deriving_on_shelves import walk
from tests.synthesizers.reverse.shelf_world import COLOURS, ITEMS, SPEC, call

SHOP: Facts = {
    "orders/O-1/customer_id": "C-1",
    "orders/O-1/status": "pending",
    "orders/O-2/customer_id": "C-1",
    "orders/O-2/status": "pending",
    "orders/O-3/customer_id": "C-2",
    "orders/O-3/status": "pending",
    "customers/C-1/name": "Ann",
    "customers/C-2/name": "Bob",
}


def cancel(at: int, order: str) -> Operation:
    return Operation(
        at,
        call("cancel", order_id=order),
        {f"orders/{order}/status": Change("pending", "cancelled")},
    )


def found(operations: list[Operation], most: int = 3, start: Facts = SHOP) -> set[tuple[int, ...]]:
    return set(windows(operations, start, most, Random(0)))


def test_orders_of_one_customer_belong_together_and_those_of_two_do_not() -> None:
    assert found([cancel(0, "O-1"), cancel(1, "O-3"), cancel(2, "O-2")]) == {
        (0,),
        (1,),
        (2,),
        (0, 2),
    }


def test_a_refusal_belongs_to_the_customer_whose_order_it_names() -> None:
    denied = Operation(1, call("refund", order_id="O-2"), {}, "R5")
    assert found([cancel(0, "O-1"), denied]) == {(0,), (1,), (0, 1)}


def test_what_is_undone_within_a_window_is_none() -> None:
    there = Operation(
        0, call("open", order_id="O-1"), {"orders/O-1/status": Change("pending", "open")}
    )
    back = Operation(
        1, call("close", order_id="O-1"), {"orders/O-1/status": Change("open", "pending")}
    )
    assert found([there, back]) == {(0,), (1,)}


deeds = st.lists(
    st.one_of(
        st.builds(
            lambda item, colour: call("paint", item=item, colour=colour),
            st.sampled_from(ITEMS),
            st.sampled_from(COLOURS),
        ),
        st.builds(
            lambda item, box: call("move", item=item, box=box),
            st.sampled_from(ITEMS),
            st.sampled_from(["box-1", "box-2", "box-4"]),
        ),
        st.just(call("ring")),
    ),
    max_size=9,
)


@settings(max_examples=60)
@given(deeds, st.integers(1, 5))
def test_every_window_is_short_in_order_and_hangs_together(
    turns: list[AgentTurn], most: int
) -> None:
    _, walked = walk(*turns)
    entities = Entities(walked.start)
    for window in windows(walked.operations, walked.start, most, Random(0)):
        assert 1 <= len(window) <= most
        assert list(window) == sorted(set(window))
        about = [entities.of(walked.operations[number]) for number in window]
        for number in range(len(about) - 1):
            assert about[number] & frozenset().union(*about[number + 1 :])


@settings(max_examples=40)
@given(deeds)
def test_a_segment_goes_from_the_start_as_it_went_in_the_walk(turns: list[AgentTurn]) -> None:
    shelf, walked = walk(*turns)
    for window in windows(walked.operations, walked.start, 3, Random(0)):
        got = asyncio.run(
            Cutter(shelf, SPEC.facts, walked).segment(
                [walked.operations[number] for number in window], 3
            )
        )
        if got is None:
            continue
        assert got.start == walked.start
        wanted = {walked.operations[number].at for number in window}
        assert wanted <= {operation.at for operation in got.operations}
        for operation, place in zip(got.operations, got.places, strict=True):
            assert got.turns[place] == operation.turn
            assert (
                operation.changed.keys()
                == next(o for o in walked.operations if o.at == operation.at).changed.keys()
            )


def segment_of(
    window: tuple[int, ...], *turns: AgentTurn, most: int = 3, **config: object
) -> Segment | None:
    shelf, walked = walk(*turns, **config)
    return asyncio.run(
        Cutter(shelf, SPEC.facts, walked).segment(
            [walked.operations[number] for number in window], most
        )
    )


RING, LOOK = call("ring"), call("look", box="box-1")
MOVES = [call("move", item="cup-1", box=box) for box in ("box-1", "box-2", "box-3")]


def test_turns_that_an_operation_needs_come_with_it_and_no_others() -> None:
    got = segment_of(
        (2,), call("paint", item="cup-1", colour="green"), RING, RING, LOOK, *MOVES, bell_first=True
    )
    assert got is not None
    assert [turn.tool_calls[0].name for turn in got.turns] == ["ring", "move"]
    assert [operation.turn.tool_calls[0].name for operation in got.operations] == ["move"]


def test_without_the_need_an_operation_goes_alone() -> None:
    got = segment_of((0,), RING, *MOVES)
    assert got is not None
    assert [turn.tool_calls[0].name for turn in got.turns] == ["move"]


def test_an_operation_that_needs_earlier_ones_takes_them_in_or_is_dropped() -> None:
    """cup-1 of start 0 stands in box-2: moving it there changes something only after it has been
    moved away.
    """
    there_and_back = (MOVES[0], MOVES[1])
    got = segment_of((1,), *there_and_back)
    assert got is not None
    assert [operation.turn for operation in got.operations] == list(there_and_back)
    assert segment_of((1,), *there_and_back, most=1) is None


def test_a_signature_masks_entities_and_order() -> None:
    one, other = [cancel(0, "O-1"), cancel(1, "O-2")], [cancel(0, "O-2"), cancel(1, "O-1")]
    assert (
        operation_signature(one, SHOP)
        == operation_signature(other, SHOP)
        == "cancel(orders.status) + cancel(orders.status)"
    )
    assert operation_signature([Operation(0, call("cancel"), {}, "R3")], SHOP) == "cancel!R3"
    assert (
        operation_signature(
            [Operation(0, call("look", order="O-1"), {}, shown=("O-1 is open",))], SHOP
        )
        == "look?"
    )
    new = Operation(0, call("refund"), {"refunds/RF-1/amount": Change(None, 7)})
    assert operation_signature([new], SHOP) == "refund(+refunds.amount)"
