"""Foreign text as a terminal may show it: no sequence in it moves the cursor, sets a title, or turns the direction of writing."""

from schemas.canonical import valid_text

SPACING = "\n\t\u00a0\u200c\u200d\u202f\u3000"
"""What texts of any script may hold beside letters: white space, and what joins letters or keeps them apart."""


def printable(text: str, keep: str = "") -> str:
    """Every character that is not printable by its escape, so that a text of several lines becomes one; those in `keep` stay.

    Lone surrogates become U+FFFD.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(sign if sign.isprintable() or sign in keep else sign.encode("unicode_escape").decode() for sign in valid_text(text))
