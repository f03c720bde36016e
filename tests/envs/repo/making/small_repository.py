"""A repository of ours with two modules, tests of each kind of outcome, and one that is flaky."""

from pathlib import Path

FILES = {
    "shop/__init__.py": "from shop.prices import total\n",
    "shop/prices.py": '''"""Prices."""


def total(prices, discount=0):
    """The sum of prices, less a discount in per cent."""
    found = 0
    for price in prices:
        if price > 0:
            found += price
    return found - found * discount // 100


def cheapest(prices, count=1):
    if not prices:
        raise ValueError("no prices")
    return sorted(prices)[0:count]
''',
    "shop/names.py": '''"""Names."""


def short(name, length=8):
    words = name.strip().split(" ", 1)
    if len(words) > 1 and len(name) > length:
        return words[0][0] + ". " + words[1]
    return name.strip()


def unused(name):
    return name + 1
''',
    "tests/test_prices.py": """import pytest

from shop.prices import cheapest, total


def test_total():
    assert total([1, 2, 3]) == 6


def test_discount():
    assert total([100, 100], discount=10) == 180


def test_what_is_below_nothing_does_not_count():
    assert total([5, -3]) == 5


@pytest.mark.parametrize(("count", "expected"), [(1, [1]), (2, [1, 2])])
def test_cheapest(count, expected):
    assert cheapest([3, 1, 2], count) == expected


def test_no_prices():
    with pytest.raises(ValueError):
        cheapest([])
""",
    "tests/test_names.py": """import os

import pytest

from shop.names import short


def test_short():
    assert short("Ada Lovelace") == "A. Lovelace"
    assert short(" Ada ") == "Ada"


def test_of_length():
    assert short("Al Bo", 3) == "A. Bo"


def test_flaky():
    assert os.urandom(1)[0] % 8 == 0  # five times in a row: once in 30,000 pools


@pytest.mark.skip
def test_skipped():
    assert False


@pytest.mark.xfail
def test_expected_to_fail():
    assert False


@pytest.fixture
def broken():
    yield 1
    raise RuntimeError("at the end")


def test_with_a_broken_fixture(broken):
    assert broken == 1
""",
}
PASSING = {
    "tests/test_names.py::test_of_length",
    "tests/test_names.py::test_short",
    "tests/test_prices.py::test_cheapest[1-expected0]",
    "tests/test_prices.py::test_cheapest[2-expected1]",
    "tests/test_prices.py::test_discount",
    "tests/test_prices.py::test_no_prices",
    "tests/test_prices.py::test_total",
    "tests/test_prices.py::test_what_is_below_nothing_does_not_count",
}
"""The tests that always pass."""


def write_repository(folder: Path) -> Path:
    """Its files."""
    for path, text in FILES.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder
