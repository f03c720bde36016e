"""A model's words for a goal that rules have written and tested: line by line, with the same values
in the same order, the same kind of wish, and nothing taken back.
"""

import re
from collections.abc import Sequence

from msgspec.structs import replace

from synth.envs.storefront.customer.line_content import FACTS, marks
from synth.envs.storefront.customer.script import Request, read_script
from synth.envs.storefront.texts import texts
from synth.schemas import Draft

_KNOWN_BY = {kind: re.compile(rf"\b(?:{words})") for kind, words in texts("wishes").items()}
_SENTENCE = re.compile(r"[A-Z\"'].*[.!?\"']$", re.DOTALL)
_SHORTEST, _LONGEST = 0.5, 2.5
"""Words of a wording for one of its line."""
_MORE = 12
"""Words that politeness may add to a line, however short it is."""
_MUST_AGREE = ("negated", "not", "agent", "role", "claim")
"""Marks that a wording has only where its line has them."""


def reworded(draft: Draft, lines: Sequence[str]) -> Draft:
    """The draft with each request in other words. Raises `ValueError` where a line says something
    else.
    """
    head, *_ = draft.goal.split("\n")
    requests = read_script(draft.script).requests

    if len(lines) != len(requests):
        raise ValueError(f"{len(lines)} lines for {len(requests)} requests")

    said = [line.strip() for line in lines]

    for request, line in zip(requests, said, strict=True):
        why = otherwise(request, line)

        if why:
            raise ValueError(f"request {request.number}: {why}")

    numbered = (f"{one.number}. {line}" for one, line in zip(requests, said, strict=True))

    return replace(draft, worded="\n".join([head, *numbered]))


def otherwise(request: Request, line: str) -> str:
    """In what a wording says something else than a request; empty where it does not."""
    words, length = len(line.split()), len(request.text.split())
    fits = _SHORTEST * length <= words <= max(_LONGEST * length, length + _MORE)

    if "\n" in line or not _SENTENCE.fullmatch(line) or not fits:
        return "it is no sentence of about that length"

    wanted, got = marks(request.text), marks(line)

    for kind in (*FACTS, *_MUST_AGREE):
        own, said = ([mark for mark in some if mark[0] == kind] for some in (wanted, got))

        if own != said:
            return f"{kind}: {[value for _, value in said]} instead of {[v for _, v in own]}"

    if request.note is not None and f'"{request.note}"' not in line:
        return "the note is not there word for word"

    return _another_kind(request, line)


def _another_kind(request: Request, line: str) -> str:
    """Which kind of wish a wording lacks, or has beside its own."""
    own, said = request.text.lower(), line.lower().replace("\u2019", "'")
    kinds = {request.kind, *([request.otherwise] if request.otherwise else [])}
    lacking = [kind for kind in kinds if not _KNOWN_BY[kind].search(said)]

    if lacking:
        return f"it does not ask for: {', '.join(sorted(lacking))}"

    extra = [
        kind
        for kind in ("cancel", "return", "exchange", "coupon", "compensation", "note")
        if _KNOWN_BY[kind].search(said) and not _KNOWN_BY[kind].search(own) and kind not in kinds
    ]

    return f"it asks for more: {', '.join(extra)}" if extra else _left_out(request, said)


def _left_out(request: Request, said: str) -> str:
    """What a wording leaves out beside its kind: the total, a condition, all of it."""
    wanted = {
        "the total": request.tell_total and not re.search(r"total|how much|amount", said),
        "the condition": request.condition
        and not re.search(r"\b(?:if|unless|only|provided)\b", said),
        "all of it": "everything" in request.text and not re.search(r"everything|all\b", said),
        "former": request.former and not re.search(r"before|former|previous|used to|last", said),
        "the next one": request.after and not re.search(r"next|after|follow", said),
    }

    return ", ".join(name for name, missing in wanted.items() if missing)
