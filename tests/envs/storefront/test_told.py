"""Values found in text, normalised by type."""

import pytest

from synth.envs.storefront.customer.told import (
    dates,
    identifiers,
    money_said,
    money_seen,
    numbers,
    statuses,
    windows,
    with_years,
)


@pytest.mark.parametrize(
    ("text", "cents"),
    [
        ("It is $129.50.", {12950}),
        ("It is $1,204.", {120400}),
        ("129.5 or 130 dollars", {12950, 13000}),
        ("order O-12345, 3 pieces, 10.5 % off, on 2026-03-05", set()),
        ("$20 and $20.00", {2000}),
        ("It is USD 41, not 42 USD, nor USD 43.50.", {4100, 4200, 4350}),
    ],
)
def test_money_is_what_looks_like_money(text: str, cents: set[int]) -> None:
    assert money_said(text) == cents


def test_every_number_of_a_tool_answer_may_be_an_amount_but_ids_are_not() -> None:
    assert money_seen('{"order_id":"O-12345","refund":129.5,"lines":[2]}') == {12950, 200}


@pytest.mark.parametrize(
    "text", ["on 2026-03-05", "on 5 March 2026", "March 5th, 2026", "the 5th of Mar 2026"]
)
def test_dates_are_read_in_three_notations(text: str) -> None:
    assert dates(text) == {"2026-03-05"}


def test_days_that_do_not_exist_are_no_dates() -> None:
    assert dates("2026-02-30, 2026-13-01, 0000-01-01, 9999-12-31") == {"9999-12-31"}


@pytest.mark.parametrize(
    ("said", "today", "day"),
    [
        ("on March 5th.", "2026-02-20", "2026-03-05"),
        ("on the 5th of March", "2026-02-20", "2026-03-05"),
        ("on Jan 2", "2026-12-30", "2027-01-02"),
        ("28 December", "2026-01-03", "2025-12-28"),
        ("March 5th, 2024", "2026-02-20", "2024-03-05"),
        ("2024-03-05", "2026-02-20", "2024-03-05"),
    ],
)
def test_a_day_without_a_year_is_the_nearest_one(said: str, today: str, day: str) -> None:
    assert dates(with_years(said, today)) == {day}


@pytest.mark.parametrize(
    "text", ["you may 5 times", "30 February", "order O-12345", "March on", "Decembers 3"]
)
def test_what_is_no_day_stays_as_it_is(text: str) -> None:
    assert with_years(text, "2026-02-20") == text


def test_statuses_have_synonyms() -> None:
    assert (
        statuses("It is ready for pick-up")
        == statuses("It is at the pickup location")
        == {"at_pickup_point"}
    )
    assert statuses("A label was created") == {"label_created"}
    assert statuses("It is on its way") == statuses('{"status":"in_transit"}') == {"in_transit"}
    assert statuses("It was canceled") == {"cancelled"}
    assert statuses("it has not been shipped") == set()


def test_numbers_and_identifiers_do_not_mix() -> None:
    assert numbers("7 of V-4821 for $30, on 2026-03-05, 2.5 kg") == {7}
    assert identifiers("V-4821 and O-12345.1") == {"V-4821", "O-12345.1"}


def test_an_amount_with_decimals_does_not_end_a_sentence() -> None:
    assert windows("It is $129.50 now. Anything else?\nBye") == [
        "It is $129.50 now.",
        "Anything else?",
        "Bye",
    ]
