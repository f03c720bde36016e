"""Declared computations, each worked out by hand, and near misses that are none."""

import pytest

from synth.text.provenance.quantities import computed, may_be_computed, quantities

ORDER = {
    "discount_percent": 10,
    "total": 97.2,
    "refunded": 20.0,
    "lines": [{"unit_price": 24.0, "quantity": 2}, {"unit_price": 60.0, "quantity": 1}],
}


@pytest.mark.parametrize(
    ("value", "how"),
    [
        (48.0, "product"),  # 24 x 2
        (84.0, "sum"),  # 24 + 60
        (108.0, "sum"),  # 24 x 2 + 60
        (77.2, "difference"),  # 97.2 - 20
        (43.2, "percentage"),  # 24 x 2 less 10 %
        (54.0, "percentage"),  # 60 less 10 %
        (91.37, None),
        (48.01, None),
    ],
)
def test_amounts_that_follow_from_an_order(value, how):
    assert computed(value, "amount", quantities([ORDER], [])) == how


def test_times_a_number_that_was_said():
    assert (
        computed(
            150.0, "amount", quantities([{"bag_fee": 50.0, "seat": 7}], ["We have three bags."])
        )
        == "product"
    )
    assert (
        computed(150.0, "amount", quantities([{"bag_fee": 50.0, "seat": 7}], ["We have bags."]))
        is None
    )


def test_a_percentage_that_was_said():
    assert (
        computed(
            17.5, "amount", quantities([{"fare": 70.0, "tax": 1.0}], ["A fee of 25% is kept."])
        )
        == "percentage"
    )


def test_rounding_to_cents():
    assert computed(33.33, "amount", quantities([{"share": 33.3333}], [])) == "rounding"


@pytest.mark.parametrize(
    ("value", "how"),
    [(107.87, "percentage"), (107.86, "percentage"), (107.88, None), (107.85, None)],
)
def test_half_a_cent_may_be_rounded_either_way(value, how):
    order = {
        "discount_percent": 10,
        "lines": [{"unit_price": 39.95, "quantity": 3}],
    }  # 119.85 less 10 % is 107.865
    assert computed(value, "amount", quantities([order], [])) == how


def test_the_number_of_a_list_item_counts_no_pieces():
    assert (
        computed(90.0, "amount", quantities([{"price": 30.0}], ["Please:\n3. return the scarf"]))
        is None
    )
    assert (
        computed(
            90.0, "amount", quantities([{"price": 30.0}], ["Please:\n1. return the 3 scarves"])
        )
        == "product"
    )


def test_dollars_as_cents():
    assert computed(5404, "amount_cents", quantities([{"total": 54.04}], [])) == "cents"
    assert computed(5404, "amount", quantities([{"total": 54.04}], [])) is None


def test_the_length_of_a_list():
    assert computed(3, "passengers", quantities([{"names": ["a", "b", "c"]}], [])) == "count"


@pytest.mark.parametrize(
    ("name", "expected"),
    [("amount", True), ("order_id", False), ("item_ids", False), ("zip", False)],
)
def test_identifiers_are_never_computed(name, expected):
    assert may_be_computed(name) is expected
