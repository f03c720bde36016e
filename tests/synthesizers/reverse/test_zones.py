"""Required, free and protected, worked out by hand and held by any pair of states."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.schemas.check import RowPredicate, Scalar
from synth.schemas.reverse import Draft
from synth.synthesizers.reverse.check_predicates import broken, check_of

ZONES = {
    "orders/*/*": "required",
    "refunds/*/*": "required",
    "refunds/*/note": "free",
    "slips/*/*": "generated",
    "notes/*/*": "free",
    "people/*/*": "protected",
}
START: dict[str, Scalar] = {
    "orders/1/status": "open",
    "orders/1/total": 50,
    "orders/2/status": "open",
    "people/p/credit": 0,
}
DRAFT = Draft("Do it.", (), "it")


def test_changed_columns_of_a_row_are_required_by_its_key() -> None:
    check = check_of(START, START | {"orders/1/status": "cancelled"}, DRAFT, ZONES)
    assert check.required == (RowPredicate("orders", {"id": "1", "status": "cancelled"}),)


def test_a_new_row_is_required_by_content_and_not_by_key() -> None:
    end = START | {"refunds/RF-1/amount": 7, "refunds/RF-1/note": "said so", "slips/S-1/line": 1}
    check = check_of(START, end, DRAFT, ZONES)
    assert check.required == (RowPredicate("refunds", {"amount": 7}),)
    assert set(check.free) == {"refunds/*/note", "slips/*/*", "notes/*/*"}
    other_key = START | {"refunds/RF-9/amount": 7, "notes/n/text": "free"}
    assert not broken(check, START, other_key)
    assert broken(check, START, other_key | {"refunds/RF-10/amount": 7}), (
        "one refund was asked for, not two"
    )
    assert broken(check, START, other_key | {"orders/2/status": "cancelled"})


def test_two_new_rows_that_are_alike_are_one_predicate_with_a_count() -> None:
    check = check_of(START, START | {"refunds/a/amount": 7, "refunds/b/amount": 7}, DRAFT, ZONES)
    assert check.required == (RowPredicate("refunds", {"amount": 7}, 2),)


def test_a_row_that_is_gone_may_not_come_back() -> None:
    end = {path: value for path, value in START.items() if not path.startswith("orders/2/")}
    check = check_of(START, end, DRAFT, ZONES)
    assert check.required == (RowPredicate("orders", {"id": "2"}, 0),)
    assert not broken(check, START, end)
    assert broken(check, START, START)


def test_what_the_draft_calls_free_is_neither_required_nor_protected() -> None:
    end = START | {"orders/1/status": "cancelled", "people/p/credit": 5}
    check = check_of(START, end, Draft("Do it.", (), "it", free=("people/*/credit",)), ZONES)
    assert check.required == (RowPredicate("orders", {"id": "1", "status": "cancelled"}),)
    assert not broken(check, START, START | {"orders/1/status": "cancelled", "people/p/credit": 9})


paths = st.builds(
    "/".join,
    st.tuples(
        st.sampled_from(["orders", "refunds", "slips", "notes", "people"]),
        st.sampled_from(["1", "2", "a"]),
        st.sampled_from(["x", "note"]),
    ),
)
states = st.dictionaries(paths, st.sampled_from([None, 0, 1, "s", True]), max_size=8)


@pytest.mark.slow
@given(states, states)
def test_the_check_passes_at_the_end_and_fails_at_the_start_where_anything_is_asked_for(
    start: dict[str, Scalar], end: dict[str, Scalar]
) -> None:
    check = check_of(start, end, DRAFT, ZONES)
    assert not broken(check, start, end)
    if check.required:
        assert broken(check, start, start)


@pytest.mark.slow
@given(states, states, paths, st.sampled_from([5, "other"]))
def test_any_further_change_outside_the_free_zone_fails(
    start: dict[str, Scalar], end: dict[str, Scalar], path: str, value: Scalar
) -> None:
    check = check_of(start, end, DRAFT, ZONES)
    is_free = path.startswith(("slips/", "notes/")) or (
        path.startswith("refunds/") and path.endswith("/note")
    )
    if not is_free and path not in check.free:
        assert broken(check, start, end | {path: value})
