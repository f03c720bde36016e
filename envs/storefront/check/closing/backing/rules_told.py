"""The policy told in general: "coupons are for pending orders". Borne out by the rules that
something was denied by, where what is said to be allowed is, and what is said to be forbidden.
"""

import re
from collections.abc import Callable

from synth.envs.storefront.check.closing.backing.reasons import grounds
from synth.envs.storefront.check.closing.backing.said import known_words, pattern, patterns
from synth.envs.storefront.check.ground import EpisodeGround

_PARTS = re.compile(r"([,;:]\s+|\s[\u2013\u2014-]\s|\s(?:and|but|so|because|since)\s)")
_OF_A_RULE = ("about", "allows", "forbids")
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")


def without_rules(sentence: str, ground: EpisodeGround, marked: Callable[[str], str]) -> str:
    """A sentence without those of its parts that tell a rule, and rightly; `marked` puts marks in
    the place of what a text names.
    """
    if not pattern("in_general").search(sentence.lower()):
        return sentence

    parts = _PARTS.split(sentence)
    at = 0
    while at < len(parts):
        for size in (3, 1):
            if _tells_a_rule(marked("".join(parts[at : at + size])), ground):
                # the joint behind it, else the one before it
                del parts[at : at + size + 1]
                if at >= len(parts) and parts:
                    parts.pop()
                break
        else:
            at += 2

    return "".join(parts)


def is_a_rule(text: str) -> bool:
    """Whether a text speaks in general, of nothing in particular."""
    general, particular = pattern("in_general").search(text), pattern("in_particular").search(text)
    return bool(general) and not particular


def tells_another_rule(text: str) -> bool:
    """Whether a text that is none of the rules tells when something is allowed, or forbidden."""
    when = zip(*(patterns("policy", part).values() for part in _OF_A_RULE), strict=True)
    return is_a_rule(text) and any(
        about.search(text) and (allows.search(text) or forbids.search(text))
        for about, allows, forbids in when
    )


def _tells_a_rule(text: str, ground: EpisodeGround) -> bool:
    """Whether a text that speaks in general says of a rule what is so."""
    if not is_a_rule(text):
        return False

    forbids = pattern("negated").search(text) is not None
    for rule in grounds(ground) & patterns("policy", "about").keys():
        about, allows, none = (patterns("policy", part)[rule] for part in _OF_A_RULE)
        said, other = (none, allows) if forbids else (allows, none)
        if about.search(text) and said.search(text) and not other.search(said.sub(" ", text)):
            rest = said.sub(" ", about.sub(" ", pattern("negated").sub(" ", text)))
            if {*_WORD.findall(rest)} <= known_words() | {"only", "each", "every", "all"}:
                return True

    return False
