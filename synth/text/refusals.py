"""Whether a text refuses to do what it was asked for (data/refusals.yaml)."""

import re
from functools import cache
from importlib.resources import files

from synth.schemas import read_yaml

LONGEST = 600
"""Characters of a refusal: what goes on for longer has something else to say."""
SENTENCES = 2
"""A refusal stands at the beginning."""
_KEYS = ("unable", "what", "whole")
_END = re.compile(r"(?<=[.!?。！])\s*|\n+")


@cache
def _patterns() -> tuple["re.Pattern[str]", "re.Pattern[str]", "re.Pattern[str]"]:
    """Who will not, what, and both at once."""
    place = files("synth") / "data" / "refusals.yaml"
    table = read_yaml(place.read_text(encoding="utf-8"), place.name)
    unable, what, whole = (re.compile("|".join(table[key]), re.I) for key in _KEYS)
    return unable, what, whole


def refuses(text: str) -> bool:
    """Whether a short text, no data, says at its beginning that its writer will not do what is
    asked.
    """
    text = " ".join(text.replace("’", "'").split())
    if not text or len(text) > LONGEST or text.startswith(("{", "[")):
        return False
    unable, what, whole = _patterns()
    for sentence in list(filter(None, _END.split(text)))[:SENTENCES]:
        if whole.search(sentence) is not None:
            return True
        will_not = unable.search(sentence)
        if will_not is not None and what.search(sentence, will_not.start()) is not None:
            return True
    return False
