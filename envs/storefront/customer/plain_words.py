"""The words in which the customer's short lines may be put anew: whatever else is said could
narrow, widen or turn what was said.
"""

import re
from collections.abc import Collection, Mapping, Sequence

_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_TALK = _words("""
    a absolutely agree agreed ah ahead alright am an and apologies appreciate appreciated approve approved are as be by bye can
    carry clear confirm confirmed continue correct course definitely do does enough exactly explaining fair fine for get go going
    good goodbye got great guess happy hello help hi hm hmm i i'd i'm in indeed is it it's just know let let's like lovely makes
    may me much my nice now of oh ok okay on perfect please proceed really right see sense so sorry sounds suppose sure telling
    thank thanks that that's the then there thing this to understand understood very well what with works would yeah yep yes you
    you're your yup
""")
"""In any line: talk that carries nothing."""
_DETAIL = _words("""
    at called can choose color colour ending ends from have here i've mean named number one prefer reach said want
""")
"""In lines that carry facts."""
_ADDRESS = _words("address home house live located place street")
_CARD = _words("card digits four")
_ORDER = _words("date day made order ordered")
_BY_WORD: Mapping[str, frozenset[str]] = {
    "one": _words("item"),
    "at": _ADDRESS,
    "address": _ADDRESS,
    "card": _CARD,
    "ending": _CARD,
    "placed": _ORDER,
    "phone": _words("call cell mobile telephone"),
    "email": _words("e mail"),
    "zip": _words("code postal postcode"),
    "coupon": _words("code promo voucher"),
    "name": _words("goes"),
}
"""In lines that have the word."""
_BY_STANCE: Mapping[str, frozenset[str]] = {
    "unknown": _words("""
        afraid answer at can't cannot clue couldn't didn't don't exact exactly hand have head honest honestly idea information
        moment no not now off one recall remember say tell top unfortunately unsure
    """),
    "misunderstood": _words("""
        again catch clarify confused could couldn't didn't don't explain follow mean meant not one pardon quite repeat rephrase
        said say saying unclear
    """),
    "goodbye": _words(
        "all bye day everything for further good goodbye great have help helping needed nice no "
        "nothing now else see set your"
    ),
    "changed_mind": _words(
        "about actually changed don't forget leave longer mind need never no on order rather "
        "scratch simply want instead"
    ),
    "found_cheaper": _words(
        "another at better cheaper cost costs elsewhere else found has less lower offers online "
        "other price sells shop somewhere store was"
    ),
    "by_mistake": _words(
        "accident accidentally by didn't error mean mistake mistakenly order ordered placed "
        "simply was"
    ),
    "too_late": _words(
        "arrive arrives arriving because come comes delivered delivery get late long not take "
        "takes time too will won't"
    ),
    "drop_off": _words("at bring drop i'll it myself off prefer shop store take will"),
    "pickup": _words(
        "at collect collected courier from have home house pick picked pickup place prefer "
        "someone up"
    ),
    "mail": _words("by i'll mail post prefer send will"),
    "original": _words(
        "account back card got had how i'd like method money original originally paid pay payment "
        "prefer same used want way"
    ),
    "store_credit": _words(
        "as at credit give have i'd like prefer refund shop store voucher want your"
    ),
    "my_card": _CARD,
}
"""In lines that stand for something."""
_FREE = frozenset({"also_asked", "pushes_back", "undone"})
"""What is said at length, in any words: there marks alone decide."""


def words(text: str) -> list[str]:
    """The words of a text in lower case, each once."""
    return list(dict.fromkeys(_WORD.findall(text.lower().replace("all right", "alright"))))


def words_beyond(line: str, stances: Collection[str], *, facts: bool, said: str) -> Sequence[str]:
    """The words of `said` in which nobody may put a line that stands for `stances`; both without
    their facts.
    """
    if _FREE & set(stances):
        return []
    own = words(line)
    allowed = _TALK.union(
        own, _DETAIL if facts else (), *(_BY_WORD.get(word, ()) for word in own if facts)
    )
    allowed = allowed.union(*(_BY_STANCE.get(stance, ()) for stance in stances))
    return [word for word in words(said) if word not in allowed]
