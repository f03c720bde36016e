"""A clause beside what happened: the orders that it means, and the acts that it may be about."""

import re
from collections.abc import Iterable
from functools import cached_property

from synth.envs.storefront.check.closing.clauses import Clause, pattern, patterns
from synth.envs.storefront.check.closing.ground import EpisodeGround
from synth.envs.storefront.check.closing.mentions import Good, Line
from synth.envs.storefront.tools.transcript import Event

OTHER_ORDER = re.compile(r"\bother (?:@goods )?(?:order|parcel|package)\b")
_HYPOTHETICAL = re.compile(r"\b(?:would|could|if)\b")
_OF_NO_GOODS = ("escalate", "note")


class Reading:
    """A clause against the ground that it may stand on."""

    def __init__(self, clause: Clause, ground: EpisodeGround) -> None:
        self.clause, self.ground = clause, ground
        self.text, self.named, self.acts = clause.text, clause.of, clause.acts

    @cached_property
    def orders(self) -> list[str]:
        """The orders that are meant: named in the clause, told apart by its goods, or named before
        it where it comes back to them; of none in particular, nothing.
        """
        ground, clause = self.ground, self.clause
        if self.named.orders:
            return self.named.orders
        if OTHER_ORDER.search(self.text):
            others = sorted(ground.shown - {*clause.nearby})
            done = [key for key in others if key in self.acted]
            left = [key for key in others if key not in done]
            return done if self.acts and done else left or others
        if goods := [good for good in self.named.goods if good.noun]:
            found = [key for good in goods for key in ground.holding(good, sorted(ground.shown))]
            near = [key for key in dict.fromkeys(found) if key in clause.nearby]
            return near or [*dict.fromkeys(found)]

        return clause.nearby if clause.has("back_to_it") else []

    @cached_property
    def acted(self) -> list[str]:
        """The orders that something was done to."""
        return sorted({str(event.order_id) for event in self.ground.acts if event.order_id})

    @cached_property
    def events(self) -> list[Event]:
        """The events of all acts that the clause names."""
        return [event for act in self.acts for event in self.of(act)]

    def of(self, act: str) -> list[Event]:
        """The events of an act on what is meant, and on some of the goods that are named."""
        found, goods = self.ground.of(act, self.orders), self.named.goods
        if not goods or act in _OF_NO_GOODS:
            return found

        return [event for event in found if self.concern(goods, event)]

    def concern(self, goods: Iterable[Good], event: Event) -> bool:
        """Whether an act was done on some of these goods, or made them of others."""
        lines = [*self.ground.touched(event), *self.ground.became(event)]
        return any(good.fits(line) for good in goods for line in lines)

    def was_changed(self) -> bool:
        """Whether an act touched what is meant: the goods that are named, else the orders."""
        goods = self.named.goods
        meant = [
            event
            for event in self.ground.acts
            if event.order_id and (not self.orders or event.order_id in self.orders)
        ]
        return any(not goods or self.concern(goods, event) for event in meant)

    @cached_property
    def hypothetical(self) -> bool:
        """Whether it is said what would be."""
        return _HYPOTHETICAL.search(self.text) is not None

    @cached_property
    def handed_over(self) -> bool:
        """Whether a matter is said to be handed over, here or before in the sentence."""
        both = f"{self.clause.before} {self.text}".lower()
        return any(
            words.search(both) is not None
            for words in (patterns("acts")["escalate"], patterns("reasons")["R6"])
        )

    @cached_property
    def did(self) -> list[str]:
        """The verbs by which somebody did something, without those of seeing and speaking."""
        found = (pattern(name).search(self.clause.plain) for name in ("own_act", "passive"))
        verbs = [one["verb"] for one in found if one is not None]
        return [verb for verb in verbs if not pattern("speech").match(verb)]

    @cached_property
    def is_own(self) -> bool:
        """Whether the agent says that it did something."""
        return pattern("own_act").search(self.text) is not None

    def new_lines(self) -> list[Line]:
        """What exchanges of what is meant made of the lines."""
        events = self.ground.of("exchange", self.orders)
        return [line for event in events for line in self.ground.became(event)]
