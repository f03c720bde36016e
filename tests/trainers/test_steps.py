"""The printed loop over PRM rows: it learns which steps were worth taking."""

from pathlib import Path

import pytest

from tests.trainers.printed import code_under, trained

pytestmark = pytest.mark.slow


def test_the_printed_loop_learns_from_the_rows(storefront: Path, student: Path) -> None:
    import datasets

    folder = str(storefront / "prm")
    rows = datasets.load_dataset(folder, split="train")
    of_every_class = [
        label
        for name in datasets.get_dataset_config_names(folder)
        for row in datasets.load_dataset(folder, name, split="train")
        for label in row["labels"]
    ]
    assert set(of_every_class) == {True, False}
    found = trained(code_under("Process reward models"), student, storefront)["losses"]
    assert len(found) == 2 * len(rows)
    assert sum(found[len(rows) :]) < sum(found[: len(rows)])
