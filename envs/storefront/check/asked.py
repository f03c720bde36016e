"""What the customer said and asked for: numbers, coupons, goods, and how many requests."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from synth.envs.storefront.check.episode_view import EpisodeView
from synth.envs.storefront.check.mentions import Good

_REQUEST = re.compile(r"^(\d+)\. (.+)$", re.MULTILINE)
_LONGEST = 6
"""Digits of a number that may be an amount of dollars."""


@dataclass(frozen=True)
class CustomersWords:
    """The episode, as far as the customer spoke in it."""

    view: EpisodeView

    @cached_property
    def requests(self) -> dict[str, str]:
        """The requests that they began with, by number."""
        return dict(_REQUEST.findall(self.view.opening))

    @cached_property
    def numbers(self) -> frozenset[str]:
        """The numbers that they said."""
        return frozenset(re.findall(r"\d+", " ".join(self._said())))

    @cached_property
    def amounts(self) -> set[int]:
        """The same as amounts, in cents."""
        return {int(number) * 100 for number in self.numbers if len(number) < _LONGEST}

    @cached_property
    def codes(self) -> frozenset[str]:
        """The coupons that they named."""
        words = {*re.findall(r"\w+", " ".join(self._said()))}
        return frozenset(words & self.view.base.tables["coupons"].keys())

    @cached_property
    def words(self) -> frozenset[str]:
        """The words of their first message."""
        return frozenset(re.findall(r"[^\W\d_]+", self.view.opening.lower()))

    def named(self, good: Good) -> bool:
        """Whether they named goods in one request."""
        words = {good.noun, good.colour} - {""}
        lines = self.view.opening.lower().split("\n")
        return bool(words) and any(words <= {*re.findall(r"\w+", line)} for line in lines)

    def _said(self) -> Iterator[str]:
        yield self.view.opening
        yield from (event.text for event in self.view.events if event.kind == "heard")
