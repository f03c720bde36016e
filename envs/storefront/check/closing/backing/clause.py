"""A clause of an agent's words as it is read by kinds of words (`data/said.yaml`)."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from synth.envs.storefront.check.closing.backing.reasons import grounds, reasons
from synth.envs.storefront.check.closing.backing.said import pattern, patterns
from synth.envs.storefront.check.ground import EpisodeGround
from synth.envs.storefront.check.mentions import Mentions, mentions_of

_CONTRAST = re.compile(
    r",? (?:instead of|rather than|in place of|(?:and|but) not|not to|from @place to)\b"
)
_JOINT = re.compile(r"^[\s,;:\u2013\u2014-]+(?:(?:and|but|so|or|then) )?")
_YET = re.compile(r"\b(?:yet|so far|as of now|until now)\b")
_TOO_LATE = re.compile(r"\btoo (?:late|old|long)\b")
_GOODS_BACK = re.compile(
    r"\breturns?\b(?! to)|\breturn(?:ed|ing)? (?:of |for )?(?:\S+ )?@goods|@goods (?:\S+ ){0,4}back"
    r"|^[^@]*@goods (?:\S+ ){0,4}returned"
)


@dataclass(slots=True)
class Clause:
    """A clause as it stands (`raw`); what it names, and its text with marks for that, up to what it
    is set against (`contrast`); `plain`: without the reasons of denials.

    `nearby`: the orders that were named before in its sentence, `before`: that part of it;
    `earlier`: those that the sentences before it named last. `sentence`: that in whole, in small
    letters. `unfinished`: not done yet. `because`: it gives the reason of a denial, or of handing
    over.
    """

    raw: str
    of: Mentions
    text: str
    contrast: str
    plain: str
    acts: list[str]
    statuses: list[str]
    denied: bool
    unfinished: bool
    nearby: list[str] = field(default_factory=list)
    earlier: list[str] = field(default_factory=list)
    before: str = ""
    sentence: str = ""

    def has(self, name: str) -> bool:
        """Whether a pattern of the file is in it."""
        return pattern(name).search(self.text) is not None

    @property
    def because(self) -> bool:
        return self.plain != self.text


def clause_of(part: str, ground: EpisodeGround) -> Clause:
    """A clause as it is read by itself."""
    of = mentions_of(part, ground.view.base)
    if after := _after_another(of, ground):
        of.text = f"{of.text[: after.start()]} {of.text[after.end() :]}"
    joined = pattern("prefaces").sub("", _JOINT.sub("", of.text)).strip(" ,:")
    head, *rest = _CONTRAST.split(joined, maxsplit=1)
    text = head.strip(" ,")
    plain = without(text, reasons(ground))

    # of an order that is named a reason is checked, too
    statuses = _statuses(text if of.orders else plain, text)
    acts = _acts(plain, text, of, has_status=bool(statuses))
    if acts or of.amounts or of.means:
        # a return is open, a refund pending
        statuses = [name for name in statuses if name not in ("pending", "active")]

    negated = _is_negated(plain, text, ground)
    yet = _YET.search(without(plain, _cancelling(ground)))
    unfinished = pattern("not_yet").search(text) is not None or bool(negated and yet)

    return Clause(
        raw=part,
        of=of,
        text=text,
        contrast=" ".join(rest),
        plain=plain,
        acts=acts,
        statuses=statuses,
        denied=negated and not unfinished,
        unfinished=unfinished,
    )


def _acts(plain: str, text: str, of: Mentions, *, has_status: bool) -> list[str]:
    """The acts that a clause speaks of, by their names, or by what it names beside."""
    acts = [act for act, words in patterns("acts").items() if words.search(plain)]
    if not acts and of.means and of.amounts:
        acts = ["refund"]
    if not (acts or has_status) and pattern("way_back").search(text):
        acts = ["return"]
    if "address" in acts and pattern("not_on_file").search(text):
        acts.remove("address")

    money = of.amounts or of.means or "refund" in acts
    if "return" in acts and money and not _GOODS_BACK.search(text):
        # what is said to go back is money, and no goods
        acts.remove("return")

    return acts


def _statuses(where: str, text: str) -> list[str]:
    """What a clause says that an order, or a parcel, is."""
    found = [name for name, words in patterns("statuses").items() if words.search(where)]
    left = pattern("not_sent").search(text) and "shipped" not in found

    return [*found, "shipped"] if left else found


def _cancelling(ground: EpisodeGround) -> list[re.Pattern[str]]:
    """How a cancellation is told: "won't be coming any more" denies nothing."""
    return [patterns("acts")["cancel"], *given("why_cancelled", ground)]


def _is_negated(plain: str, text: str, ground: EpisodeGround) -> bool:
    """Whether a clause says no: "it is too late to return it" does, too."""
    late = "R4" in grounds(ground) and _TOO_LATE.search(text) is not None

    return late or pattern("negated").search(without(plain, _cancelling(ground))) is not None


def _after_another(of: Mentions, ground: EpisodeGround) -> re.Match[str] | None:
    """Where a clause tells an order by the one before it, as the customer did; those goods are not
    what it is about.
    """
    found = pattern("after_another").search(of.text)
    if found is None:
        return None

    place = of.text[: found.start()].count("@goods")
    if place >= len(of.goods) or "after the one with" not in ground.view.opening:
        return None
    if ground.asked.named(of.goods[place]):
        del of.goods[place]
        return found

    return None


def without(text: str, several: Iterable[re.Pattern[str]]) -> str:
    """A text without what some patterns say."""
    for words in several:
        text = words.sub(" ", text)

    return text


def given(name: str, ground: EpisodeGround) -> list[re.Pattern[str]]:
    """How the ways, or the reasons, are called that acts were given."""
    return [words for key, words in patterns(name).items() if key in ground.reasons_given]
