"""A clause beside what happened: the orders that it means, and the acts that it may be about."""

import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import chain

from synth.envs.storefront.check.closing.backing.clause import Clause
from synth.envs.storefront.check.closing.backing.people import orders_of_others
from synth.envs.storefront.check.closing.backing.said import pattern, patterns
from synth.envs.storefront.check.closing.clauses import OTHER_ORDER
from synth.envs.storefront.check.ground import EpisodeGround
from synth.envs.storefront.check.mentions import Good, Line, fit, is_day
from synth.envs.storefront.tools.transcript import Event

_OF_A_DAY = re.compile(r"\b(?:orders?|ones?) (?:from|of|dated|placed on) (?:the )?@date")
_PENDING = re.compile(r"\b(?:pending|outstanding)\b")
_REST = re.compile(r"\b(?:rest|remaining|others?)\b")
_IF = re.compile(r"^\W*(?:if|should you|in case|were you)\b")
_GOES_ON = re.compile(
    r"(?:(?:and|but|so|then|now|also) )*"
    r"(?:was|were|is|are|has|had|will|would|can|could)(?:n't|not)?\b"
)
"""How a clause begins whose subject another one has."""
_SEVERAL = re.compile(r"\b(?:they|them|their|these|those)\b")
_OF_NO_GOODS = ("escalate", "note")
_CHANGING = ("address", "exchange", "coupon")


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
        if named := self.named.orders or list(self._of_a_day()):
            return named
        if OTHER_ORDER.search(self.text):
            return self._others()
        if goods := self.named.kinds_of_goods:
            held = (self.ground.holding(good, self.ground.shown) for good in goods)
            found = [*dict.fromkeys(chain.from_iterable(held))]
            near = [key for key in found if key in self.clause.nearby]
            return near if near and self.clause.has("back_to_it") else found

        return self._before()

    def _others(self) -> list[str]:
        """Orders beside those that were named before: first those that something was done to, where
        acts are spoken of, else those that nothing was done to.
        """
        others = [key for key in self.ground.shown if key not in self.clause.nearby]
        done = [key for key in others if key in self.acted]
        left = [key for key in others if key not in done]
        return done if self.acts and done else left or others

    def _before(self) -> list[str]:
        """Orders that are told by people, or that a clause comes back to."""
        clause = self.clause
        if others := orders_of_others(self.text, self.ground):
            return [*others, *(clause.nearby if clause.has("back_to_it") else ())]
        if not (clause.has("back_to_it") or _GOES_ON.match(self.text)):
            return []

        several = clause.acts and _SEVERAL.search(self.text)
        nearby = clause.nearby or clause.earlier
        return [] if several and len(nearby) == 1 else nearby

    def _of_a_day(self) -> Iterator[str]:
        """The orders that are told by the day on which they were placed."""
        if found := _OF_A_DAY.search(self.text):
            day = self.named.dates[self.text[: found.start()].count("@date")]
            for key in self.ground.shown:
                if is_day(self.ground.row("orders", key).get("placed"), day):
                    yield key

    @property
    def meant(self) -> list[str]:
        """The same; of none in particular, all that were shown."""
        return self.orders or self.ground.shown

    @property
    def likely(self) -> list[str]:
        """The same; of none in particular, those that something was done to, else all."""
        return self.orders or self.acted or self.ground.shown

    @cached_property
    def sure_orders(self) -> list[str]:
        """The orders that are meant, without those that an earlier sentence may have meant."""
        by_chance = self.orders == self.clause.earlier and not self.clause.nearby
        return self.named.orders if by_chance else self.orders

    def is_kept(self, act: str) -> bool:
        """Whether what an act would change is said to stay as it is."""
        return act in _CHANGING and (self.clause.has("kept") or self.clause.has("untouched"))

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
            return [event for event in found if self._may_concern(goods, event)]

        return [event for event in found if self.concern(goods, event)]

    def _may_concern(self, goods: Iterable[Good], event: Event) -> bool:
        """Whether an act on no goods may be about these: it is about no order, or one with them."""
        lines = self.ground.lines(str(event.order_id))
        nouns = [good for good in goods if good.noun]
        return not (lines and nouns) or fit(nouns, lines)

    def concern(self, goods: Iterable[Good], event: Event) -> bool:
        """Whether an act was done on some of these goods, or made them of others."""
        return fit(goods, [*self.ground.touched(event), *self.ground.became(event)])

    def was_changed(self) -> bool:
        """Whether an act touched what is meant: the goods that are named, else the orders."""
        goods = self.named.goods
        meant = [
            event
            for event in self.ground.acts
            if event.order_id and (not self.orders or event.order_id in self.orders)
        ]
        return any(not goods or self.concern(goods, event) for event in meant)

    def in_part(self) -> bool:
        """Whether it is the rest of an order that is spoken of, of which a part was changed."""
        events = [event for event in self.ground.acts if event.order_id in self.orders]
        done = sum(len(self.ground.touched(event)) for event in events)
        every = sum(len(self.ground.lines(key)) for key in self.orders)
        return _REST.search(self.text) is not None and done < every

    @cached_property
    def hypothetical(self) -> bool:
        """Whether it is said what would be: not that it was done, too."""
        quoted = self.clause.has("quote") or _IF.search(self.clause.sentence)
        return bool(quoted) and not self.did

    @cached_property
    def is_pending(self) -> bool:
        """Whether a refund that was handed over is said to be pending."""
        handed = self.ground.of("escalate", self.orders)
        return bool(handed) and _PENDING.search(self.text) is not None

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
        names = (("own_act", "speech"), ("passive", "told_of"))
        found = ((pattern(act).search(self.clause.plain), of_words) for act, of_words in names)
        verbs = [(one["verb"], of_words) for one, of_words in found if one is not None]
        return [verb for verb, of_words in verbs if not pattern(of_words).match(verb)]

    @cached_property
    def is_own(self) -> bool:
        """Whether the agent says that it did something, and not only spoke."""
        found = pattern("own_act").search(self.text)
        return found is not None and not pattern("speech").match(found["verb"])

    def new_lines(self) -> list[Line]:
        """What exchanges of what is meant made of the lines."""
        events = self.ground.of("exchange", self.orders)
        return [line for event in events for line in self.ground.became(event)]
