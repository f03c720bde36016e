"""How a literal of a command follows from a person's words."""

import pytest

from synth.schemas import Scalar
from synth.text.provenance import Status
from synth.text.provenance.kinds.reckoned import reckoned, spellings
from tests.synth.text.provenance.episodes import called, last, linted


@pytest.mark.parametrize(
    ("value", "said", "how"),
    [
        ("20480", "bigger than 20KB", "other units"),
        ("2048", "files of 1 MB", "other units"),  # blocks of 512
        ("172800", "older than 2 days", "other units"),
        ("1001", "from the 1000th line on", "the number beside"),
        ("259", "lines 16224 through 16482", "a difference"),
        ("2008-09-30", "changed on the 29th of September, 2008", "the day beside"),
        ("4711", "bigger than 20KB", None),
        ("2008-10-04", "changed on the 29th of September, 2008", None),
        ("K-4411", "order K-4412", None),
    ],
)
def test_what_follows_from_a_persons_words(value: Scalar, said: str, how: str | None) -> None:
    assert reckoned(value, [said]) == how


def test_other_spellings() -> None:
    assert list(spellings("flash_4411.img")) == ["flash_4411"]
    assert list(spellings("0x1F4")) == ["1F4", "500"]
    assert "order" in spellings("orders")


def test_a_name_of_a_table_needs_a_source_where_tables_were_listed() -> None:
    change = called("execute_sql", sql="UPDATE invoices SET total = 0 WHERE total < 0")
    look = called("describe", "orders(id, total, day)")
    bare = called("describe", "ok")

    assert {f.value: f.status for f in linted(look, change).findings}["invoices"] is (
        Status.UNJUSTIFIED
    )
    assert {f.value: f.status for f in linted(bare, change).findings}["invoices"] is Status.EXEMPT


def test_an_error_shows_what_the_agent_writes_only_after_it() -> None:
    turns = (
        called("book", "Error: the total price is 608, but paid 304", error=True, amount=304),
        called("note_down", "", text="the total is 608"),
        called("book", "ok", amount=608),
    )

    assert last(linted(*turns, goal="Book it for 304.")).status is Status.OBSERVED


def test_a_telephone_number_and_a_rate_and_a_rest_follow() -> None:
    said = "My number is +51 987654321. I pay $150 by certificate, the rest by card."
    seen = called("get_invoice", {"subtotal": 2125.0, "tax": 382.5, "price": 174, "seats": 2})
    phone = called("register", "ok", customer_phone="+51987654321")
    rate = called("issue", "ok", tax_rate=0.18)
    rest = called("book", "ok", payments=[{"amount": 150}, {"amount": 198}])
    invented = called("issue", "ok", tax_rate=0.19)

    for turn, status in (
        (phone, Status.OBSERVED),
        (rate, Status.COMPUTED),
        (rest, Status.COMPUTED),
        (invented, Status.UNJUSTIFIED),
    ):
        assert last(linted(seen, turn, goal=f"Two seats, please, so 2. {said}")).status is status


def test_one_thing_needs_no_number_and_a_span_names_both_days() -> None:
    order = called("order_item", "ok", item="CAT-888", quantity=1)
    two = called("order_item", "ok", item="CAT-888", quantity=2)

    assert last(linted(order, goal="Please order the CAT-888.")).status is Status.COMPUTED
    assert last(linted(two, goal="Please order the CAT-888.")).status is Status.UNJUSTIFIED

    booked = called("reserve", "ok", check_out="2025-05-22")
    goal = "From May 20th to the 22nd of next year."
    assert last(linted(booked, goal=goal)).status is Status.COMPUTED
