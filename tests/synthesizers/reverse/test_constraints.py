"""Goals are told apart by what they demand, not by whom or what they are about."""

from synth.schemas.check import Check, Refusal, RowPredicate, Tell
from synth.synthesizers.reverse.check_predicates import constraint_structure


def cancel(order: str, **also: str) -> RowPredicate:
    return RowPredicate("orders", {"id": order, "status": "cancelled", **also})


def test_entities_values_and_order_do_not_count() -> None:
    note = RowPredicate("notes", {"text": "Knock.", "ticket": "T-1"})
    one = Check(required=(cancel("O-1"), note), told=(Tell("money", 5, "O-1"),))
    other = Check(
        required=(RowPredicate("notes", {"text": "Ring.", "ticket": "T-2"}), cancel("O-2")),
        told=(Tell("money", 9, "O-2"),),
    )
    assert (
        constraint_structure(one)
        == constraint_structure(other)
        == "+notes(text, ticket) + orders(status) + tell money"
    )


def test_columns_counts_types_and_rules_do() -> None:
    checks = [
        Check(required=(cancel("O-1"),)),
        Check(required=(cancel("O-1", reason="late"),)),
        Check(required=(cancel("O-1"), cancel("O-2"))),
        Check(required=(RowPredicate("orders", {"id": "O-1"}, 0),)),
        Check(told=(Tell("money", 5),)),
        Check(told=(Tell("date", "2026-01-02"),)),
        Check(refusals=(Refusal("1", "R3"),)),
        Check(refusals=(Refusal("1", "R4"),)),
    ]
    assert len({constraint_structure(check) for check in checks}) == len(checks)
    assert constraint_structure(checks[2]) == "2 x orders(status)"
    assert constraint_structure(checks[3]) == "orders() 0 times"
