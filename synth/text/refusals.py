"""Whether a text refuses to do what it was asked for (data/refusals.yaml)."""

import re
from functools import cache
from importlib.resources import files

from synth.schemas import read_yaml

LONGEST = 600
"""Characters of a refusal: what goes on for longer has something else to say."""
SENTENCES = 2
"""A refusal stands at the beginning."""
_QUOTED = re.compile(r"""\"[^\"]*\"|“[^”]*”|「[^」]*」|(?<!\w)'(?:[^']|(?<=\w)'(?=\w))*'(?!\w)""")
_KEYS = ("unable", "what", "whole", "machine", "cannot")
_END = re.compile(r"(?<=[.!?。！])\s*|\n+")


@cache
def _patterns() -> "dict[str, re.Pattern[str]]":
    """Who will not, what, and both at once; who is a machine, and cannot."""
    place = files("synth") / "data" / "refusals.yaml"
    table = read_yaml(place.read_text(encoding="utf-8"), place.name)
    return {key: re.compile("|".join(table[key]), re.I) for key in _KEYS}


def refuses(text: str) -> bool:
    """Whether a short text, no data, says at its beginning that its writer will not do what is
    asked.
    """
    text = " ".join(text.replace("’", "'").split())
    if not text or len(text) > LONGEST or text.startswith(("{", "[")):
        return False
    found = _patterns()
    sentences = list(filter(None, _END.split(_QUOTED.sub("", text))))
    head, sentences = " ".join(sentences[: SENTENCES + 1]), sentences[:SENTENCES]
    if found["machine"].search(head) is not None and found["cannot"].search(head) is not None:
        return True
    for sentence in sentences:
        if found["whole"].search(sentence) is not None:
            return True
        will_not = found["unable"].search(sentence)
        if will_not is not None and found["what"].search(sentence, will_not.start()) is not None:
            return True
    return False
