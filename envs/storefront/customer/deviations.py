"""Where a model's wording of a line departs from what the script says: by its marks, and by its
form.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from synth.envs.storefront.customer.line_content import FACTS, PATTERNS, Mark, marks, without_facts
from synth.models.reply_health import mask_of
from synth.schemas.model import Completion
from synth.schemas.trajectory import Deviation

KINDS = (
    "silent",
    "cut_off",
    "rambles",
    "plays_agent",
    "out_of_role",
    "omits",
    "reveals",
    "contradicts",
    "agrees",
    "changes_goal",
    "ends_early",
    "adds",
)
"""Every kind of deviation; what each means stands in docs/storefront.md."""
_NEEDED = ("stance", "not", "word")
"""Beside facts, what a wording may not leave out."""
_WORDS_PER_WORD, _MORE_WORDS = 2, 14
"""A wording has at most so many words per word of its line, and so many more."""
_LETTERS_PER_WORD = 30
_EXTRA = {
    "agent": "plays_agent",
    "role": "out_of_role",
    "action": "changes_goal",
    "not": "changes_goal",
    "claim": "adds",
    "question": "adds",
}
_EXTRA_STANCE = {"yes": "agrees", "goodbye": "ends_early", "changed_mind": "changes_goal"}


_ALLOWED: Mapping[str, Any] = PATTERNS["words"]
_AT_LENGTH = frozenset({"also_asked", "pushes_back", "undone"})
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")


def most_words(line: str) -> int:
    """How long a wording of a line may be."""
    return _WORDS_PER_WORD * len(line.split()) + _MORE_WORDS


def deviations(line: str, reply: Completion) -> Sequence[Deviation]:
    """All departures of a reply, each as a kind and the words that show it; none where it says what
    the line says, and nothing else.
    """
    text = (reply.content or "").strip()
    if reply.tool_calls:
        return [
            Deviation(
                "plays_agent", f"it calls {', '.join(call.name for call in reply.tool_calls)[:80]}"
            )
        ]
    if not text:
        return [Deviation("silent", "nothing is said")]
    if mask_of(reply.finish_reason) is not None:
        return [Deviation("cut_off", "it ends in the middle")]
    most = most_words(line)
    if len(text) > _LETTERS_PER_WORD * most or len(text.split()) > most:
        return [Deviation("rambles", f"at most {most} words are enough")]
    found = set(_departures(marks(line), marks(text)))
    return sorted(
        found or set(_added(line, text)),
        key=lambda deviation: (KINDS.index(deviation.kind), deviation.what),
    )


def _added(line: str, text: str) -> Iterator[Deviation]:
    """Words of a wording that go beyond its line, for where its marks show nothing; lines that are
    said at length may be put in any words.
    """
    wanted = marks(line)
    stances = [value for kind, value in wanted if kind == "stance"]
    if _AT_LENGTH.isdisjoint(stances):
        own = _words(without_facts(line))
        allowed = set(own).union(_ALLOWED["talk"].split())
        for stance in stances:
            allowed.update(_ALLOWED["by_stance"].get(stance, "").split())
        if any(kind in FACTS for kind, _ in wanted):
            allowed.update(_ALLOWED["detail"].split())
            for word in own:
                allowed.update(_ALLOWED["by_word"].get(word, "").split())
        beyond = [word for word in _words(without_facts(text)) if word not in allowed]
        if beyond:
            yield Deviation("adds", f"words that go beyond the line: {', '.join(beyond)}")


def _words(text: str) -> list[str]:
    """The words of a text in lower case, each once."""
    return list(dict.fromkeys(_WORD.findall(text.lower().replace("all right", "alright"))))


def _departures(wanted: Sequence[Mark], got: Sequence[Mark]) -> Iterator[Deviation]:
    missing = [mark for mark in wanted if mark not in got and mark[0] in (*FACTS, *_NEEDED)]
    for kind, value in missing:
        yield Deviation("omits", _shown(kind, value))
    for fact in FACTS:
        said = [mark for mark in got if mark[0] == fact]
        if set(said) == {mark for mark in wanted if mark[0] == fact} and said != [
            mark for mark in wanted if mark[0] == fact
        ]:
            yield Deviation("contradicts", f"{fact}s in another order")
    bound = not any(kind == "hedge" for kind, _ in wanted) and any(
        kind in FACTS for kind, _ in wanted
    )
    for kind, value in (mark for mark in got if mark not in wanted):
        instead = any(other == kind for other, _ in missing)
        if kind in FACTS:
            yield Deviation("contradicts" if instead else "reveals", _shown(kind, value))
        elif kind == "stance":
            yield Deviation(
                _EXTRA_STANCE.get(value, "contradicts" if instead else "adds"), _shown(kind, value)
            )
        elif kind in _EXTRA:
            yield Deviation(_EXTRA[kind], _shown(kind, value))
        elif kind == "negated" or (kind == "hedge" and (bound or ("stance", "yes") in wanted)):
            yield Deviation("contradicts", f"it takes something back: {value!r}")


def _shown(kind: str, value: str) -> str:
    """For instance: number 77718; in words where the value is one of ours."""
    return (
        value.replace("_", " ")
        if kind == "stance"
        else f"{kind} {value}"
        if kind in FACTS
        else f"{kind}: {value}"
    )
