"""Drawn strings that nothing names: secrets, unless something beside them tells otherwise."""

import re
from collections.abc import Iterator

from synth.text.secrets.judges import judge
from synth.text.secrets.spans import Bounds

_LONGEST = 200
"""Longer ones are pictures, archives and ciphertexts."""
_BEFORE = 90
_URL = re.compile(
    r"[A-Za-z][\w+.-]*://[^\s\"'<>]*\Z|(?:www\.|\.(?:com|org|net|io|de)/)[^\s\"'<>]*\Z"
)
_AFTER = re.compile(r"[/\\(]|[@:][^\W_]")
_ARMOUR = re.compile(r"-----(BEGIN|END) ([A-Z0-9 ]+)-----")
_FLAT = re.compile(r"[A-Za-z0-9+/_-]{56,}={0,2}")
_MARGIN = "\r\n\t +>"


def unnamed(text: str, start: int, end: int) -> Iterator[Bounds]:
    """The run of a match, where it was drawn and nothing around it is public."""
    token = text[start:end].rstrip(".-")
    end = start + len(token)
    if len(token) > _LONGEST or not judge("drawn_run")(token):
        return

    above, _, line = text[max(0, start - 400) : start].rpartition("\n")
    line = line[-_BEFORE:]
    url = _URL.search(line + token)

    if url is not None and url.start() <= len(line):
        if judge("hooked")(url[0]):
            yield start, end

        return

    # alone in its line, it is what the line above says
    said = line if line.strip(" \t+>|\"'`$#") else above.rpartition("\n")[2][-_BEFORE:]
    if judge("before_public")(line) or _AFTER.match(text, end):
        return

    is_public = judge("told_public")(said) or _is_in_armour(text, start, end)
    if judge("told_secret")(said) or not is_public:
        yield start, end


def _is_in_armour(text: str, start: int, end: int) -> bool:
    """Whether a run is a line of a certificate or of another long block."""
    marks = _ARMOUR.findall(text, max(0, start - 6000), start)
    if marks and marks[-1][0] == "BEGIN" and "PRIVATE" not in marks[-1][1]:
        return True

    above = text[max(0, start - 100) : start].rstrip(_MARGIN).rpartition("\n")[2].strip()
    below = text[end : end + 100].lstrip(_MARGIN).partition("\n")[0].strip()

    return _FLAT.fullmatch(above) is not None or (
        end - start >= 56 and _FLAT.fullmatch(below) is not None
    )
