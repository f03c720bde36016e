"""Calls as a list of Python's, which is all of the text: `[find(id=1), pay(sum=2.5)]` (Llama, BFCL,
API-Bank); ToolACE's tools have blanks and slashes in their names.
"""

import re
from collections.abc import Iterator

from synth.importers.actions.markup import Call, Written
from synth.text.calls.python_calls import MOST, bracket_end, read_python_calls

_LIST = re.compile(r"\A\s*(?:API-Request\s*:\s*)?\[\s*(?P<calls>.*\))\s*\]\s*\Z", re.DOTALL)
_NAME = re.compile(r"[\s,]*(?P<name>[^\W\d][^()\[\]{}'\"=,\n]*?)\s*(?=\()")


def in_python(text: str) -> Written | None:
    """The calls of a list that is the whole text; None where it is anything else."""
    found = _LIST.match(text) if len(text) <= MOST else None
    calls = None if found is None else list(_calls(found["calls"]))
    if not calls or None in calls:
        return None
    return Written(tuple(call for call in calls if call is not None), "", "python")


def _calls(listed: str) -> Iterator[Call | None]:
    """Each call; None for what is none."""
    at = 0
    while listed[at:].strip():
        named = _NAME.match(listed, at)
        end = None if named is None else bracket_end(listed, named.end())
        if named is None or end is None:
            yield None
            return
        # a name that Python allows, since those with blanks are none to its parser
        given = "call" + listed[named.end() : end]
        read = read_python_calls(given, len(given), (), marked=True)
        if read is None or len(read.calls) != 1 or read.calls[0].parse_error is not None:
            yield None
            return
        yield named["name"].strip(), read.calls[0].arguments
        at = end
