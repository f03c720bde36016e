"""What a text names that can only be known from somewhere.

These are identifiers, numbers, names, paths and quotations.
"""

import re

_MARKED = re.compile(r"""["“`]([^"“”`\n]{2,80})["”`]""")
_ODD = re.compile(r"[A-Z\d_/]")
"""In a quoted word that is more than a common one."""
_PATH = re.compile(
    r"(?<![\w/.])(?:~|\.{1,2}|[\w.-]+)?(?:/[\w.@-]+){2,}/?|(?<![\w/.])/[\w.@-]{2,}"
    r"|\b[\w-]+\.[a-z]{2,5}\b(?!\.\w)|\b[a-zA-Z]:\\[\w\\.-]+"
)
_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_WITH_DIGIT = re.compile(r"[#$€£]?[^\W_](?:[\w@:/.,#-]*\w)?")
_SNAKE = re.compile(r"\b[^\W_]+(?:_[^\W_]+)+\b")
_NAME = r"[A-ZÀ-Þ][a-zà-ÿ]+"
_NAMES = re.compile(rf"\b{_NAME}(?:(?:[ '-]|-?[A-Z]\. ){_NAME})+\b")
_ONE_NAME = re.compile(rf"(?<=[a-zà-ÿ,;] )({_NAME})(?=[.,;:!?)]?(?: [a-zà-ÿ]|\s*$|'s\b))")
_NUMBER = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?")
_YEAR = re.compile(r"(?:19|20)\d\d")
LEAST_NUMBER = 100
"""Whole numbers below it stand everywhere, and name nothing (as in `synth.text.provenance`); nor
does a year alone.
"""
_NO_NAMES = (
    "monday tuesday wednesday thursday friday saturday sunday january february march april may "
    "june july august september october november december english please thank thanks the this "
    "that these those one two three four five first second here there what which when where how "
    "and but for not yes"
)
_EVERYDAY = frozenset(_NO_NAMES.split())


def literals(text: str) -> frozenset[str]:
    """Every literal of a text, as it stands there but for quotation marks around it."""
    found = [
        match[0].rstrip("./")
        for pattern in (_EMAIL, _PATH, _SNAKE)
        for match in pattern.finditer(text)
    ]
    found += [one for one in _WITH_DIGIT.findall(text) if any(map(str.isdigit, one))]
    found += [one for one in _MARKED.findall(text) if " " in one.strip() or _ODD.search(one)]
    names = _NAMES.findall(text) + _ONE_NAME.findall(text)
    found += [name for name in names if name.casefold().split()[0] not in _EVERYDAY]

    return frozenset(literal for literal in found if _tells(literal))


def is_one_name(literal: str) -> bool:
    """Whether it is one capitalised word: written small it is likely another word (Information)."""
    return re.fullmatch(_NAME, literal) is not None


def _tells(literal: str) -> bool:
    """Whether it is no number below `LEAST_NUMBER`, no year, and no single sign."""
    bare = literal.strip("#$€£%.,:()")

    if _NUMBER.fullmatch(bare):
        value = float(bare.replace(",", ""))
        return not (value.is_integer() and (value < LEAST_NUMBER or _YEAR.fullmatch(bare)))

    return len(bare) > 2
