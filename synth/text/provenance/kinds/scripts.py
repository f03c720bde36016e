"""The literals of programs in other languages than Python (JavaScript and its like): quoted
strings, and the numbers that are given to calls that may act.
"""

import re
from collections.abc import Iterator

from synth.text.provenance.effect import effectful_by_name
from synth.text.provenance.kinds import sql
from synth.text.provenance.kinds.python import of_text
from synth.text.provenance.kinds.telling import Literal, number, tells_as

_QUOTED = re.compile(r"([\"'`])((?:\\.|(?!\1)[^\\])*)\1", re.DOTALL)
_FILLED = re.compile(r"\$\{[^}]*\}")
_COMMENT = re.compile(r"(?<![:\"'])//[^\n]*|/\*.*?\*/", re.DOTALL)
_CALL = re.compile(r"(?<![\w.])(?P<whole>[A-Za-z_$][\w$.]*)\((?P<given>[^()]*)\)")
_GIVEN = re.compile(r"(?:(?P<name>\w+)\s*[:=]\s*)?(?<![\w.-])(?P<value>\d+(?:\.\d+)?)(?![\w.])")
_OWN = ("console", "Math", "JSON", "Object", "Array", "String", "Number", "Date", "Promise")
"""What JavaScript brings along, as far as its calls look like ones that act."""


def literals(text: str) -> Iterator[Literal]:
    """Strings that tell, wherever they stand; numbers of calls that change things by their names.

    Comments, and what is filled into a string, are the agent's own.
    """
    plain = _COMMENT.sub(" ", text)

    for _, quoted in _QUOTED.findall(plain):
        if sql.is_sql(quoted):
            yield from sql.literals(quoted)
        else:
            yield from of_text(_FILLED.sub(" ", quoted), "", acted=False)

    for call in _CALL.finditer(_QUOTED.sub(" ", plain)):
        root, last = call["whole"].split(".")[0], call["whole"].rsplit(".", 1)[-1]
        if root in _OWN or last[:1].isupper() or not effectful_by_name(last):
            continue

        for given in _GIVEN.finditer(call["given"]):
            value = number(given["value"])
            if value is not None and tells_as(value, given["name"] or ""):
                yield Literal(value, given["name"] or "")
