"""Dates in other formats, and dates that are counted."""

from datetime import date

import pytest

from synth.text.provenance.dates import as_date, computed_date, days_between

PROMPT = "today is 2024-05-15."  # a Wednesday


@pytest.mark.parametrize(
    ("day", "words", "counts", "how"),
    [
        ("2024-05-20", "on 5/20/2024", (), "another format"),
        ("2024-05-20", "on may 20th, 2024", (), "another format"),
        ("2024-05-20", "on the 20th of may", (), "year completed"),
        ("2024-05-29", "in 14 days", (14,), "days counted"),
        ("2024-05-01", "14 days ago", (14,), "days counted"),
        ("2024-05-17", "on friday", (), "weekday"),
        ("2024-05-16", "tomorrow", (), "relative day"),
        ("2024-05-21", "on may 20th", (), None),
        ("2024-05-28", "in 14 days", (14,), None),
        ("2024-05-18", "on friday", (), None),
    ],
)
def test_dates_that_follow_from_the_words(day, words, counts, how):
    assert computed_date(date.fromisoformat(day), [PROMPT, words], counts) == how


def test_days_between_two_dates():
    assert days_between(
        31, ["from 2026-01-30", "to 2026-03-02"]
    )  # 1 day left of January, 28 of February, 2 of March
    assert not days_between(30, ["from 2026-01-30", "to 2026-03-02"])


@pytest.mark.parametrize("value", ["2026-13-05", "2026-03-055", "5 March 2026", 20260305, None])
def test_other_things_are_no_dates(value):
    assert as_date(value) is None


@pytest.mark.parametrize("value", ["2026-03-05", "2026-03-05T10:00:00", "2026-03-05 10:00"])
def test_a_date_may_head_a_timestamp(value):
    assert as_date(value) == date(2026, 3, 5)
