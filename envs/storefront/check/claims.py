"""What an agent's words claim to have happened: clause by clause, an act or a status, the orders
and amounts that it names, and whether it is denied. What is asked, offered, wished or supposed
claims nothing.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from synth.envs.storefront.check.claim_patterns import (
    ACTS,
    DONE,
    STATUSES,
    begins,
    objects_of,
    says,
)
from synth.envs.storefront.check.claim_patterns import TOOLS as TOOLS
from synth.envs.storefront.texts import pattern
from synth.envs.storefront.world.catalogue import NOUNS

ORDER = r"\bO-\d+\b"
"""How an order is named."""
OTHER, ANY, TOTAL, CHARGED = "other", "any", "total", "charged"
"""Claims about none of the shop's acts, about all of them, about what an order costs, and about
money that was taken.
"""
_AMOUNT = re.compile(
    r"\$\s?(\d[\d,]*(?:\.\d+)?)|\b(\d[\d,]{0,20}(?:\.\d+)?) (?:dollars?|usd|eur)\b"
    r"|(?<![\w.,-])(\d[\d,]{0,20}\.\d\d)(?![\d%])"
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[.!?][\"')])\s+|\n+")
_CLAUSE = re.compile(
    r"([,;:]\s+|\s[\u2013\u2014-]\s"
    r"| (?:and|but|so|because|while|although|since|before|after|without|instead of) )"
)
_FINITE = re.compile(
    r"\b(?:is|are|was|were|have|has|had|will|won't|do|does|did)\b|'(?:ve|ll|re|d)\b|\w+n't\b"
)
_OF_SOMETHING = re.compile(r"\b(?:your|the|an?|my|our) \w+")
_ON_GOODS = frozenset({"cancel", "return", "exchange"})
"""Acts on orders and goods, and on nothing else."""
_IT = re.compile(r"\b(?:it|that|them)$")


@dataclass(frozen=True, slots=True)
class SpokenClaim:
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
    found = ("".join(one) for one in _AMOUNT.findall(text.lower()))

    return tuple(round(float(amount.replace(",", "").rstrip(".")) * 100) for amount in found)


@lru_cache(maxsize=8192)
def claims_of(
    text: str, order: str = ORDER, nouns: frozenset[str] = NOUNS
) -> tuple[SpokenClaim, ...]:
    """The claims of a text. `order` is a pattern for the names of orders, `nouns` are the shop's
    goods.
    """
    objects = objects_of(nouns)
    sentences = sentences_of(text)
    asks = any(sentence.rstrip().endswith("?") for sentence in sentences)
    found: list[SpokenClaim] = []

    for sentence in sentences:
        if sentence.rstrip().endswith("?"):
            continue

        for clause in clauses_of(sentence):
            found += _claims(clause, sentence, order, objects)

    # who asks for leave says what would be done
    return tuple(claim for claim in found if not (asks and claim.arranged))


def sentences_of(text: str) -> list[str]:
    """The sentences of a text, without its marks of emphasis."""
    plain = text.replace("\u2019", "'").replace("*", "")

    return [part for part in _SENTENCE.split(plain) if part.strip()]


def clauses_of(
    sentence: str,
    joints: re.Pattern[str] = _CLAUSE,
    says: Callable[[str], bool] | None = None,
) -> Iterator[str]:
    """The clauses of a sentence, each with what says that something is, was or will be done."""
    says = says or says_something
    first, *rest = joints.split(sentence)
    clause = first

    for joint, part in zip(rest[::2], rest[1::2], strict=True):
        if says(clause) and says(part):
            yield clause
            clause = part
        else:
            clause += joint + part

    yield clause


def says_something(part: str) -> bool:
    """Whether a part of a sentence has a verb of its own, as far as its form shows."""
    said = part.lower().strip(" .!")

    return any(form.search(said) for form in (_FINITE, *DONE)) or any(
        says(name, said) for name in ("arranged", "own_future", "unreal", "could_not")
    )


def _claims(
    clause: str, sentence: str, order: str, objects: re.Pattern[str]
) -> Iterator[SpokenClaim]:
    """The claims of a clause."""
    said = clause.lower().strip(" .!")
    orders = tuple(re.findall(order, clause) or re.findall(order, sentence))

    if says("as_before", said):
        yield SpokenClaim(ANY, clause, orders, denied=True)
        return

    able = pattern("claims", "could_not").sub(" ", said)
    if says("unreal", able) or says("own_future", said):
        return

    forms = [match for form in DONE if (match := form.search(said))]
    denied = says("could_not", said) or _is_denied(said, forms)
    claim = SpokenClaim(ANY, clause, orders, amounts_of(clause), denied)

    if denied and says("not_yet", said):
        return
    if not denied and claim.amounts and says("charged", said):
        yield replace(claim, act=CHARGED)
        return

    yield from _of_acts(claim, sentence.lower(), forms, objects)


def _of_acts(
    claim: SpokenClaim, sentence: str, forms: list[re.Match[str]], objects: re.Pattern[str]
) -> Iterator[SpokenClaim]:
    """What a clause claims to have been done, to come, or not to have been done: acts and statuses,
    all at once, a total, or something else.
    """
    said = claim.text.lower().strip(" .!")
    arranged = says("arranged", said)
    # what costs so much, or was ordered, was not done by the agent
    speaks = not all(map(_is_of_goods, forms)) or arranged or claim.denied
    acts = list(_acts(said, sentence, objects)) if speaks else []
    acts = acts or (acts_named(sentence) if _means_it(said, forms) else [])
    statuses = [name for name, words in STATUSES.items() if words.search(said)]

    for act in (*acts, *statuses):
        yield replace(claim, act=act, arranged=arranged)

    if claim.denied and (not acts or " nor " in said) and says("untouched", said):
        yield claim
    elif says("total", said) and claim.amounts:
        yield replace(claim, act=TOTAL)
    elif not (acts or statuses or claim.denied):
        other = _done_otherwise(said, forms, objects, sentence)
        yield from () if other is None else (replace(claim, act=other),)


def _is_of_goods(form: re.Match[str]) -> bool:
    """Whether goods are said to cost or to hold something."""
    verb = form.groupdict().get("verb")

    return verb is not None and begins("of_goods", verb)


def acts_named(text: str) -> list[str]:
    """The acts that a text speaks of: with any, no clause of a sentence is about something else."""
    said = text.lower()
    return [act for act, both in ACTS.items() if any(words.search(said) for words in both)]


def _means_it(said: str, forms: list[re.Match[str]]) -> bool:
    """Whether somebody did something to what the sentence names beside the clause."""
    return _IT.search(said) is not None and any(
        match["verb"] is not None and not begins("harmless", said[match.start("verb") :])
        for match in forms
        if "verb" in match.re.groupindex and match[0].startswith(("i ", "i'", "we ", "we'"))
    )


def _is_denied(said: str, forms: list[re.Match[str]]) -> bool:
    """Whether what a clause speaks of is denied: in front of what is done, in its midst or just
    after it. "At no charge" denies nothing.
    """
    done = min((match.end() for match in forms), default=len(said))
    found = pattern("claims", "negated").search(said)

    return found is not None and found.start() <= done + 1


def _acts(said: str, sentence: str, objects: re.Pattern[str]) -> Iterator[str]:
    """The acts that a clause speaks of; where a verb names one, things beside it are what it was
    done with. A verb with nothing of the shop's beside it is about something else.
    """
    by_verb = [act for act, (verbs, _) in ACTS.items() if verbs.search(said)]
    by_thing = [act for act, (_, things) in ACTS.items() if things.search(said)]

    # money is returned by a refund
    if "return" in by_verb and says("money_before", said):
        by_verb = [act for act in by_verb if act not in ("return", "refund")] + ["refund"]

    if (
        {*by_verb} & _ON_GOODS
        and not by_thing
        and _OF_SOMETHING.search(said)
        and not objects.search(sentence)
    ):
        yield OTHER
    else:
        yield from by_verb or by_thing


def _done_otherwise(
    said: str, forms: list[re.Match[str]], objects: re.Pattern[str], sentence: str
) -> str | None:
    """`any` where something of the shop's was changed in a way that is not named, `other` where
    something was done that the shop has no act for; None where it is no more than speech.
    """
    meant = acts_named(sentence)
    for match in forms:
        verb = match.groupdict().get("verb")
        # "I refunded it and given you ...": the verb of another clause's speaker
        own = match[0].startswith(("i ", "i'", "we ", "we'")) or (
            verb is not None and said.startswith(verb) and says("own", sentence)
        )

        if meant and not own:
            continue
        if verb is None or begins("harmless", said[match.start("verb") :]):
            continue
        if begins("changing", verb) and objects.search(said):
            return ANY
        if own or not begins("of_things", verb):
            return OTHER

    return None
