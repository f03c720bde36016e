"""Rounds of a test that differ by one value: some run in CI, the others at night."""

from collections.abc import Iterable
from typing import Any

import pytest


def rounds(*now: Any, nightly: Iterable[Any]) -> list[Any]:
    """The values of `pytest.mark.parametrize`; those at night are left out by `make test-slow`."""
    return [*now, *(pytest.param(one, marks=pytest.mark.nightly) for one in nightly)]
