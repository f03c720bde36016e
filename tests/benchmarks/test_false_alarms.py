"""False alarms are counted by text and by trajectory, in files that are the same at each run."""

from collections.abc import Callable, Iterator
from random import Random

import pytest

from benchmarks.false_alarms import Alarms
from benchmarks.planted_secrets import VALUES
from benchmarks.unplanted import (
    METADATA,
    REAL,
    SOURCES,
    Unplanted,
    package_metadata,
    package_sources,
)
from synth.text.secrets.finder import Finder

TOKEN = VALUES["github_token"](Random(1))
ADDRESS = "ann.lee@warehouse.de"


def told(source: str, *texts: tuple[str, str]) -> Alarms:
    """What is counted of (whole, text)."""
    finder, alarms = Finder(), Alarms(source, drawn=False)
    for whole, text in texts:
        alarms.add(Unplanted(source, whole, "", text), finder.found(text))
    return alarms


def test_an_address_is_a_finding_and_no_secret() -> None:
    alarms = told("files", ("a.py", f"write to {ADDRESS}"))
    assert dict(alarms.kinds) == {"email": 1}
    assert [(figure.value, figure.unit) for figure in alarms.figures()] == [(0, "of 1")]


@pytest.mark.slow
def test_a_text_with_two_secrets_counts_once_and_two_texts_of_a_trajectory_are_one() -> None:
    other = VALUES["npm_token"](Random(2))
    alarms = told(REAL, ("t1", f"{TOKEN}\n{other}"), ("t1", f"again {TOKEN}"), ("t2", "nothing"))
    assert [(figure.value, figure.unit) for figure in alarms.figures()] == [
        (2, "of 3"),
        (1, "of 2"),
    ]


def test_it_is_told_where_a_secret_stands_and_not_what_it_says() -> None:
    alarms = told("files", ("a.py", f"# first\n# second\nkey = '{TOKEN}'"))
    lines = list(alarms.report(turns=0))
    assert lines[1:] == ["  a.py, line 3: github_token"]
    assert TOKEN not in "".join(lines)


def test_none_wrong_of_three_bounds_the_rate_by_one_less_the_cube_root_of_a_twentieth() -> None:
    """(1 - p)^3 = 1/20 at p = .632."""
    alarms = told(REAL, ("t1", "one"), ("t2", "two"), ("t3", "three"))
    assert "  if none is wrong: at most 63 % of 3 trajectories" in alarms.report(turns=3)


DRAWS = [(package_sources, SOURCES), (package_metadata, METADATA)]


@pytest.mark.slow
@pytest.mark.parametrize(("drawn", "count"), DRAWS)
def test_what_is_drawn_of_packages_is_the_same_each_time_and_nothing_of_ours(
    drawn: Callable[[], Iterator[Unplanted]],
    count: int,
) -> None:
    names = [one.whole for one in drawn()]
    assert names == [one.whole for one in drawn()] == sorted(set(names))
    assert 0 < len(names) <= count
    assert not [name for name in names if name.startswith("synth") or "/tests/" in name]
