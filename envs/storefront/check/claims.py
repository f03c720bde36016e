"""What an agent's words claim to have happened: clause by clause, an act or a status, the orders and
amounts that it names, and whether it is denied. What is asked, offered, wished or supposed claims
nothing.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from synth.envs.storefront.texts import texts
from synth.envs.storefront.world.catalogue import NOUNS

_WORDS = texts("claims")
ORDER = r"\bO-\d+\b"
"""How an order is named."""
OTHER, ANY, TOTAL = "other", "any", "total"
"""Claims about none of the shop's acts, about all of them, and about what an order costs."""
_AMOUNT = re.compile(r"\$\s?(\d[\d,]*(?:\.\d+)?)|\b(\d[\d,]*(?:\.\d+)?) (?:dollars?|usd|eur)\b")
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_CLAUSE = re.compile(
    r"[,;:]\s+|\s[\u2013\u2014-]\s"
    r"| (?:and|but|so|because|while|although|since|before|after|without|instead of) "
)


def _pattern(name: str) -> re.Pattern[str]:
    """A pattern of the file."""
    return re.compile(_WORDS[name])


_DONE = [
    re.compile(words.replace("PARTICIPLE", f"(?P<verb>{_WORDS['participles']})"))
    for words in _WORDS["done"]
]
_ACTS: Mapping[str, tuple[re.Pattern[str], re.Pattern[str]]] = {
    act: (re.compile(rf"\b(?:{row['verbs']})\b"), re.compile(rf"(?<!\w)(?:{row['things']})(?!\w)"))
    for act, row in _WORDS["acts"].items()
}
TOOLS: Mapping[str, str] = {row["tool"]: act for act, row in _WORDS["acts"].items()}
"""The act that a tool carries out."""
_STATUSES = {name: re.compile(words) for name, words in _WORDS["statuses"].items()}
_OBJECTS = re.compile(_WORDS["objects"].replace("NOUNS", "|".join(sorted(NOUNS))))
_HARMLESS, _OF_THINGS = (re.compile(_WORDS[name]) for name in ("harmless", "of_things"))
_ARRANGED, _UNREAL, _OWN_FUTURE, _NEGATED, _UNTOUCHED, _AS_BEFORE, _TOTAL = map(
    _pattern,
    ("arranged", "unreal", "own_future", "negated", "untouched", "as_before", "total"),
)


@dataclass(frozen=True, slots=True)
class Claim:
    """`act`: one of data/claims.yaml, a status, `other`, `any` or `total`; `orders` and `amounts`
    (cents) as named in the clause, else in its sentence. `denied`: it is said not to have happened;
    `arranged`: it is said to come.
    """

    act: str
    text: str
    orders: tuple[str, ...] = ()
    amounts: tuple[int, ...] = ()
    denied: bool = False
    arranged: bool = False


def amounts_of(text: str) -> tuple[int, ...]:
    """The amounts of money in a text, in cents."""
    found = (first or second for first, second in _AMOUNT.findall(text.lower()))

    return tuple(round(float(amount.replace(",", "").rstrip(".")) * 100) for amount in found)


def claims_of(text: str, order: str = ORDER) -> list[Claim]:
    """The claims of a text. `order` is a pattern for the names of orders."""
    plain = text.replace("\u2019", "'").replace("*", "")
    sentences = [part for part in _SENTENCE.split(plain) if part.strip()]
    asks = any(sentence.rstrip().endswith("?") for sentence in sentences)
    found: list[Claim] = []

    for sentence in sentences:
        if sentence.rstrip().endswith("?"):
            continue

        for clause in _CLAUSE.split(sentence):
            found += _claims(clause, sentence, order)

    # who asks for leave says what would be done
    return [claim for claim in found if not (asks and claim.arranged)]


def _claims(clause: str, sentence: str, order: str) -> Iterator[Claim]:
    """The claims of a clause."""
    said = clause.lower().strip(" .!")
    orders = tuple(re.findall(order, clause) or re.findall(order, sentence))

    if _AS_BEFORE.search(said):
        yield Claim(ANY, clause, orders, denied=True)
        return
    if _UNREAL.search(said) or _OWN_FUTURE.search(said):
        return

    forms = [match for form in _DONE if (match := form.search(said))]
    denied = _is_denied(said, forms)
    arranged = _ARRANGED.search(said) is not None
    about = {"orders": orders, "amounts": amounts_of(clause), "denied": denied}
    acts = list(_acts(said)) if forms or arranged or denied else []
    statuses = [name for name, words in _STATUSES.items() if words.search(said)]

    for act in (*acts, *statuses):
        yield Claim(act, clause, arranged=arranged, **about)

    if denied and not acts and _UNTOUCHED.search(said):
        yield Claim(ANY, clause, **about)
    elif _TOTAL.search(said) and about["amounts"]:
        yield Claim(TOTAL, clause, **about)
    elif not acts and not statuses and not denied and _is_done(said, forms):
        yield Claim(OTHER, clause, **about)


def _is_denied(said: str, forms: list[re.Match[str]]) -> bool:
    """Whether what a clause speaks of is denied: in front of what is done, in its midst or just
    after it. "At no charge" denies nothing.
    """
    done = min((match.end() for match in forms), default=len(said))
    found = _NEGATED.search(said)

    return found is not None and found.start() <= done + 1


def _acts(said: str) -> Iterator[str]:
    """The acts that a clause speaks of; where a verb names one, things beside it are what it was
    done with. A verb with nothing of the shop's beside it is about something else.
    """
    by_verb = [act for act, (verbs, _) in _ACTS.items() if verbs.search(said)]
    by_thing = [act for act, (_, things) in _ACTS.items() if things.search(said)]

    # money is returned by a refund
    if by_verb == ["return"] and "refund" in by_thing:
        by_verb = ["refund"]

    if by_verb and not by_thing and not _OBJECTS.search(said):
        yield OTHER
    else:
        yield from by_verb or by_thing


def _is_done(said: str, forms: list[re.Match[str]]) -> bool:
    """Whether something was done that the shop has no act for, and that is more than speech."""
    for match in forms:
        verb = match.groupdict().get("verb")
        own = match[0].startswith(("i ", "i'", "we ", "we'"))

        if verb is None or _HARMLESS.match(said[match.start("verb") :]):
            continue
        if own or not _OF_THINGS.match(verb):
            return True

    return False
