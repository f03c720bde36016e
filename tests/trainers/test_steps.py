"""The printed loop over PRM rows: it learns which steps were worth taking."""

from pathlib import Path

import pytest

from tests.trainers.printed import code_under, trained

pytestmark = pytest.mark.slow


def test_the_printed_loop_learns_from_the_rows(storefront: Path, student: Path) -> None:
    import datasets

    rows = datasets.load_dataset(str(storefront / "prm"), split="train")
    assert {label for row in rows for label in row["labels"]} == {True, False}
    found = trained(code_under("Process reward models"), student, storefront)["losses"]
    assert len(found) == 2 * len(rows)
    assert sum(found[len(rows) :]) < sum(found[: len(rows)])
