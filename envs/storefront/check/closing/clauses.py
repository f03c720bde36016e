"""The clauses of an agent's words that assert something of the shop, read by kinds of words
(`data/said.yaml`); and the words in them that are of no kind.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from synth.envs.storefront.check.claims import clauses_of, sentences_of
from synth.envs.storefront.check.closing.ground import EpisodeGround
from synth.envs.storefront.check.closing.mentions import Mentions, mentions_of
from synth.envs.storefront.texts import texts

_CONTRAST = re.compile(r",? (?:instead of|rather than|in place of|and not|not to|from @place to)\b")
_EMPHASIS = re.compile(
    r"[*_#`>|]+|^\s*(?:[-\u2022\u2013]|\d+[.)])\s+|[\U0001F000-\U0001FFFF\u2600-\u27BF]"
)
_NUMBERING = re.compile(r"\d+[.)]?")
_ASKED_LAST = re.compile(r"(?:[,;]|\s[\u2013\u2014-])\s+[^,;]*\?$")
_JOINT = re.compile(r"^[\s,;:\u2013\u2014-]+(?:(?:and|but|so|or|then) )?")
_DONE = re.compile(r"\w+ed\b(?! to)")
_YET = re.compile(r"\byet\b")
_TOO_LATE = re.compile(r"\btoo (?:late|old|long)\b")
_GOODS_BACK = re.compile(
    r"\breturns?\b(?! to)|\breturn(?:ed|ing)? (?:of |for )?(?:\S+ )?@goods|@goods (?:\S+ ){0,4}back"
)
_WORD = re.compile(r"@?[^\W_]+(?:'[^\W_]+)*")
_LOOKED_UP = (
    "difference", "kept", "untouched", "coming", "complete", "later", "by_customer",
    "original_means", "total", "price", "former", "arrival", "as_far", "not_in_stock", "in_stock",
    "outside", "quantities", "negated",
)  # fmt: skip
"""The patterns of the file whose meaning is compared with what happened, in the order in which they
are taken out of a clause.
"""


@cache
def said() -> Any:
    """The file."""
    return texts("said")


@cache
def pattern(name: str) -> re.Pattern[str]:
    """A pattern of the file."""
    return re.compile(said()[name].replace("\n", ""))


@cache
def patterns(name: str) -> dict[str, re.Pattern[str]]:
    """The patterns of a table of the file, as whole words."""
    rows = {key: row["says"] if isinstance(row, dict) else row for key, row in said()[name].items()}
    return {
        key: re.compile(rf"(?<![\w@])(?:{words.replace(chr(10), '')})(?!\w)")
        for key, words in rows.items()
    }


@dataclass(slots=True)
class Clause:
    """A clause as it stands (`raw`); what it names, and its text with marks for that, up to what it
    is set against (`contrast`); `plain`: without the reasons of denials.

    `nearby`: the orders that were named before in its sentence, `before`: that part of it.
    `unfinished`: not done yet. `because`: it gives the reason of a denial, or of handing over.
    """

    raw: str
    of: Mentions
    text: str
    contrast: str
    nearby: list[str]
    before: str
    plain: str
    acts: list[str]
    statuses: list[str]
    denied: bool
    unfinished: bool

    def has(self, name: str) -> bool:
        """Whether a pattern of the file is in it."""
        return pattern(name).search(self.text) is not None

    @property
    def because(self) -> bool:
        return self.plain != self.text


def asserted(text: str, ground: EpisodeGround) -> Iterator[Clause]:
    """The clauses of a text that assert something of the shop."""
    for sentence in sentences_of(text):
        plain = _EMPHASIS.sub(" ", sentence).strip()
        if _NUMBERING.fullmatch(plain):
            continue

        # "I've cancelled it, anything else?" asks in its last part alone
        told = _ASKED_LAST.sub("", plain) if plain.endswith("?") else plain
        if told.endswith("?") or (told != plain and pattern("interrogative").search(told.lower())):
            continue

        parts = [one for part in clauses_of(told) for one in _listed(part)]
        nearby: list[str] = []

        for at, part in enumerate(parts):
            clause = _read(part, " ".join(parts[:at]), nearby, ground)
            nearby = clause.of.orders or _by_goods(clause, ground) or nearby
            if _asserts(clause, ground):
                yield clause


def _listed(part: str) -> list[str]:
    """The members of a list, "lamp exchanged, address changed", where each says what was done."""
    members = re.split(r"[,;:] (?:and )?", part)
    acts = patterns("acts").values()
    each = all(
        _DONE.search(one) or any(words.search(one.lower()) for words in acts) for one in members
    )

    return members if len(members) > 1 and each else [part]


def _by_goods(clause: Clause, ground: EpisodeGround) -> list[str]:
    """The one order that the goods of a clause are of."""
    goods = [good for good in clause.of.goods if good.noun]
    found = {key for good in goods for key in ground.holding(good, ground.shown)}

    return [*found] if len(found) == 1 else []


def _read(part: str, before: str, nearby: list[str], ground: EpisodeGround) -> Clause:
    """A clause as it is read."""
    of = mentions_of(part, ground.view.base)
    joined = pattern("prefaces").sub("", _JOINT.sub("", of.text)).strip(" ,:")
    head, *rest = _CONTRAST.split(joined, maxsplit=1)
    text = head.strip(" ,")
    plain = _without(text, _reasons(ground))

    acts = [act for act, words in patterns("acts").items() if words.search(plain)]
    statuses = [name for name, words in patterns("statuses").items() if words.search(plain)]
    # "won't be coming any more" is a cancellation, "it is too late to return it" a denial
    rest_of_it = patterns("acts")["cancel"].sub(" ", plain) if "cancel" in acts else plain
    late = "R4" in ground.grounds and _TOO_LATE.search(text) is not None
    negated = pattern("negated").search(rest_of_it) is not None or late
    unfinished = negated and _YET.search(rest_of_it) is not None

    if not acts and of.means and of.amounts:
        acts = ["refund"]
    if "return" in acts and _is_of_money(text, of, acts):
        acts.remove("return")
    if acts or of.amounts or of.means:
        # a return is open, a refund pending
        statuses = [name for name in statuses if name not in ("pending", "active")]

    return Clause(
        raw=part,
        of=of,
        text=text,
        contrast=" ".join(rest),
        nearby=nearby,
        before=before,
        plain=plain,
        acts=acts,
        statuses=statuses,
        denied=negated and not unfinished,
        unfinished=unfinished,
    )


def _is_of_money(text: str, of: Mentions, acts: list[str]) -> bool:
    """Whether what is said to go back is money, and no goods."""
    money = of.amounts or of.means or "refund" in acts
    return bool(money) and _GOODS_BACK.search(text) is None


def _reasons(ground: EpisodeGround) -> list[re.Pattern[str]]:
    """How the reasons are told by which something was denied, or handed over."""
    return [words for rule, words in patterns("reasons").items() if rule in ground.grounds]


def _without(text: str, several: list[re.Pattern[str]]) -> str:
    """A text without what some patterns say."""
    for words in several:
        text = words.sub(" ", text)

    return text


def _asserts(clause: Clause, ground: EpisodeGround) -> bool:
    """Whether a clause claims something: it does not only ask, offer, plan, wish or thank, or does
    so with values, or with goods that nobody spoke of.
    """
    of = clause.of
    strange = not all(any(map(good.fits, ground.known_lines)) for good in of.goods)
    values = strange or bool(
        of.amounts or of.dates or of.places or of.means or of.numbers or of.codes
    )
    if values:
        return True
    if clause.has("feelings"):
        return bool(clause.acts or clause.statuses or clause.denied)
    if clause.has("as_far") or clause.has("asks"):
        return False

    return clause.denied or not (clause.has("modal") or clause.has("own_future"))


@cache
def _known() -> frozenset[str]:
    """The words of all kinds."""
    return frozenset(" ".join(said()["kinds"].values()).split())


def words_unread(clause: Clause, ground: EpisodeGround) -> str:
    """What is said against a clause with words of no kind; empty where each is of one."""
    text = f"{clause.text} {clause.contrast}"
    if clause.denied:
        text = pattern("of_a_file").sub(" ", text)

    words = [one.removesuffix("'s") for one in _WORD.findall(_without(text, _looked_up(ground)))]
    known = _known() | ground.names
    unread = [one for one in words if not one.startswith("@") and one not in known]

    return f"has words that are not read: {', '.join(unread)}" if unread else ""


def _looked_up(ground: EpisodeGround) -> list[re.Pattern[str]]:
    """The patterns whose meaning is compared with what happened; reasons only where they were."""
    given = (
        words
        for name in ("methods", "why_cancelled")
        for key, words in patterns(name).items()
        if key in ground.reasons_given
    )
    return [
        *_reasons(ground),
        *map(pattern, _LOOKED_UP),
        *patterns("acts").values(),
        *patterns("statuses").values(),
        *([pattern("late")] if ground.was_late else ()),
        *given,
    ]
