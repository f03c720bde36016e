"""The clauses of an agent's words that assert something of the shop."""

import re
from collections.abc import Iterator

from synth.envs.storefront.check.claims import clauses_of, says_something, sentences_of
from synth.envs.storefront.check.closing.backing.clause import Clause, clause_of
from synth.envs.storefront.check.closing.backing.people import orders_of_others
from synth.envs.storefront.check.closing.backing.reasons import without_rules
from synth.envs.storefront.check.closing.backing.said import pattern, patterns
from synth.envs.storefront.check.closing.backing.vocabulary import words_unread
from synth.envs.storefront.check.ground import EpisodeGround
from synth.envs.storefront.check.mentions import fit, mentions_of

_JOINTS = re.compile(
    r"([,;:]\s+|\s[\u2013\u2014-]\s|\s*[()][\s,.]*"
    r"| (?:and|but|so|because|while|although|though|since|after|without|therefore|whereas"
    r"|given that"
    r"|before(?! (?:\S+ ){1,5}(?:could|can)\b| it (?:went|left|shipped))|(?<=, )with"
    r"|(?<!with )(?<!from )(?<!to )(?<!by )(?<!for )which|as(?! (?:it|they) (?:is|was|are|were)\b)"
    r"(?= (?:\S+ ){1,6}?(?:is|are|was|were|has|had|have|can)\b)) )"
)
"""What joins clauses: not "shipped before I could", "with which you paid", "stays as it is"."""
OTHER_ORDER = re.compile(r"\bother (?:@goods )?(?:order|parcel|package)s?\b")
_VERBS = re.compile(
    r"\b(?:goes|went|comes?|came|costs?|stays?|remains?|needs?|stands|brings?|gets?|pays?|ships?"
    r"|exists?|carries|works?|takes?|lies|exceeds?|arrives?|travels?|got|receives?|sells?|gave)\b"
)
_EMPHASIS = re.compile(
    r"[*_#`>|]+|(?<=[:;,.] )\d[.)] |^\s*(?:[-\u2022\u2013]|\d+[.)])\s+"
    r"|[\U0001F000-\U0001FFFF\u2600-\u27BF]"
)
_BRACKETS = re.compile(r"\(([^()]*)\)")
_NUMBERING = re.compile(r"\d+[.)]?")
_ASKED_LAST = re.compile(r"(?:[,;]|\s[\u2013\u2014-])\s+[^,;]*\?$")
_DONE = re.compile(
    r"(?:changed|moved|switched) to\b|(?:\w+ed|paid|sent|made|done|set up|given)\b(?! to)"
)


def asserted(text: str, ground: EpisodeGround) -> Iterator[Clause]:
    """The clauses of a text that assert something of the shop."""
    earlier: list[str] = []

    for sentence in filter(None, map(_told, sentences_of(text))):
        told = without_rules(sentence, ground, lambda one: mentions_of(one, ground.view.base).text)
        parts = [
            one
            for whole in re.split(r";\s+", told)
            for part in clauses_of(whole, _JOINTS, _tells)
            for one in _listed(part)
        ]
        nearby: list[str] = []

        for at, part in enumerate(parts):
            clause = clause_of(part, ground)
            clause.nearby, clause.earlier = nearby, earlier
            clause.before, clause.sentence = " ".join(parts[:at]), told.lower()
            nearby = _meant(clause, ground) or nearby
            if OTHER_ORDER.search(clause.text):
                # which is told only beside what happened
                nearby, earlier = clause.of.orders, []
            if _asserts(clause, ground):
                yield clause

        earlier = nearby or earlier


def _told(sentence: str) -> str:
    """What a sentence tells, without its emphasis; nothing of a number or a question."""
    plain = _EMPHASIS.sub(" ", sentence).strip()
    # "I've cancelled it, anything else?" asks in its last part alone
    told = _ASKED_LAST.sub("", plain) if plain.endswith("?") else plain
    asks = told.endswith("?") or (told != plain and pattern("interrogative").search(told.lower()))

    if asks or _NUMBERING.fullmatch(plain):
        return ""

    # "the parcel (O-1) has its label" is one clause
    return _BRACKETS.sub(lambda one: one[0] if _tells(one[1]) else f" {one[1]} ", told)


def _listed(part: str) -> list[str]:
    """The members of a list, "lamp exchanged, address changed", where each says what was done."""
    members = re.split(r"[,;:] (?:and )?", part)
    acts = (*patterns("acts").values(), *patterns("statuses").values())
    each = all(
        _DONE.search(one) or any(words.search(one.lower()) for words in acts) for one in members
    )

    return members if len(members) > 1 and each else [part]


def _tells(part: str) -> bool:
    """Whether a part of a sentence says something, be it in a headline's way."""
    return any((says_something(part), _DONE.search(part), _VERBS.search(part)))


def _meant(clause: Clause, ground: EpisodeGround) -> list[str]:
    """The orders that a clause names, or the one that its goods or people tell."""
    if clause.of.orders:
        return clause.of.orders

    found = {key for good in clause.of.kinds_of_goods for key in ground.holding(good, ground.shown)}

    return [*found] if len(found) == 1 else orders_of_others(clause.text, ground)


def _asserts(clause: Clause, ground: EpisodeGround) -> bool:
    """Whether a clause claims something: it does not only ask, offer, plan, wish or thank, or does
    so with values, or with goods that nobody spoke of.
    """
    of = clause.of
    strange = not all(fit([good], ground.known_lines) for good in of.goods)
    values = strange or bool(
        of.amounts or of.dates or of.places or of.means or of.numbers or of.codes
    )
    if values or _tells_how(clause):
        return True
    if clause.has("feelings"):
        return bool(clause.acts or clause.statuses or clause.denied)
    if clause.has("as_far") or clause.has("asks"):
        return False

    if clause.has("modal") and words_unread(clause, ground):
        return True

    return clause.denied or not (clause.has("modal") or clause.has("own_future"))


def _tells_how(clause: Clause) -> bool:
    """Whether a clause tells how goods come back, be it in an invitation."""
    of_goods = clause.of.goods or clause.has("back_to_it")
    return bool(of_goods) and any(
        words.search(clause.text) for words in patterns("methods").values()
    )
