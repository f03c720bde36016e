"""The state part of a check."""

from synth.envs.echo_check import state_verdicts
from synth.schemas.check import Check, RowPredicate

START = {
    "orders/1/state": "open",
    "orders/1/total": 5,
    "orders/2/state": "open",
    "notes/1/text": "",
}


def failed(check, **changes):
    end = {**START, **{path.replace("__", "/"): value for path, value in changes.items()}}
    return [
        part.name
        for part in state_verdicts(check, START, {p: v for p, v in end.items() if v is not ...})
        if not part.passed
    ]


CANCEL = Check(
    required=(RowPredicate("orders", {"id": "1", "state": "cancelled"}),), free=("notes/*/*",)
)


def test_the_required_change_alone_passes():
    assert failed(CANCEL, orders__1__state="cancelled") == []


def test_a_required_change_that_is_missing_fails():
    assert failed(CANCEL) == ["required"]


def test_a_free_path_may_change():
    assert failed(CANCEL, orders__1__state="cancelled", notes__1__text="called") == []


def test_another_row_may_not_change():
    assert failed(CANCEL, orders__1__state="cancelled", orders__2__state="cancelled") == [
        "protected"
    ]


def test_another_column_of_the_required_row_may_not_change():
    assert failed(CANCEL, orders__1__state="cancelled", orders__1__total=0) == ["protected"]


def test_a_path_that_vanished_has_changed():
    assert failed(CANCEL, orders__1__state="cancelled", orders__2__state=...) == ["protected"]


def test_exactly_as_many_rows_as_counted():
    two_open = Check(required=(RowPredicate("orders", {"state": "open"}, count=2),))
    assert failed(two_open) == []
    assert failed(two_open, orders__3__state="open") == ["required"]


def test_none_of_a_kind_may_be_required():
    no_open = Check(required=(RowPredicate("orders", {"state": "lost"}, count=0),))
    assert failed(no_open) == []


def test_a_verdict_is_the_same_whatever_the_order_in_which_a_predicate_names_its_columns():
    turned = Check(
        required=(RowPredicate("orders", {"state": "cancelled", "id": "1"}),), free=CANCEL.free
    )
    assert state_verdicts(turned, START, START) == state_verdicts(CANCEL, START, START)
