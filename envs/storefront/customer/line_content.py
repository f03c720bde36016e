"""What a line of the customer says, as marks: facts by kind, stances, actions; and where a model's
wording of it departs from what the script says, by its marks and by its form.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from synth.envs.storefront.texts import texts
from synth.envs.storefront.world.catalogue import COLOURS, NOUNS
from synth.envs.storefront.world.customers import PROPER_NAMES
from synth.models.reply_health import mask_of
from synth.schemas import Completion, Deviation

Mark = tuple[str, str]
"""A kind and a value."""
PATTERNS = texts("marks")
FACTS = tuple(PATTERNS["facts"])
"""Kinds whose values are copied to the letter."""
COPIED = (*FACTS, "word")
"""Kinds that a model is told to copy."""

_LISTS = {"COLOURS": COLOURS, "NOUNS": sorted(NOUNS), "NAMES": sorted(PROPER_NAMES)}
_NOT = "do not|don't|not|never|no need to|instead of|rather than|without"
_TAKEN_BACK = r"(?:\bno\b|\bnot\b|n't|\bexcept\b|instead of|rather than)(?: \w+){0,2} "
"""What stands before a fact that is taken back."""


def _any(*alternatives: str) -> re.Pattern[str]:
    """A pattern of alternatives, with the world's own words in the place of their names."""
    pattern = "|".join(alternatives)

    for name, words in _LISTS.items():
        pattern = pattern.replace(name, "|".join(words))

    return re.compile(pattern, re.MULTILINE)


_FACTS = {kind: _any(pattern) for kind, pattern in PATTERNS["facts"].items()}
_VERBS = PATTERNS["verbs"]
_NAMED: Mapping[str, Mapping[str, re.Pattern[str]]] = {
    "stance": {name: _any(*words) for name, words in PATTERNS["stances"].items()},
    "word": {name: _any(*words) for name, words in PATTERNS["key_words"].items()},
    "action": {name: _any(rf"\b(?:{verb})") for name, verb in _VERBS.items()},
    "not": {name: _any(rf"\b(?:{_NOT}) (?:to )?(?:{verb})") for name, verb in _VERBS.items()},
}
"""Kinds of marks whose value is the name of the pattern."""
_FOUND = {
    "hedge": _any(*PATTERNS["hedges"]),
    "claim": _any(*PATTERNS["claims"]),
    "agent": _any(*PATTERNS["agent"]),
    "question": re.compile(r"\?"),
}
"""Kinds of marks whose value is what was found."""
_OUT_OF_ROLE = _any(*PATTERNS["out_of_role"])


def marks(text: str) -> tuple[Mark, ...]:
    """All marks of a text, each once, those of a kind in the order in which the text has them."""
    return tuple(dict.fromkeys(_marks(_plain(text))))


def without_facts(text: str) -> str:
    """A text without all of its facts, in plain apostrophes."""
    text = _plain(text)

    for pattern in _FACTS.values():
        text = pattern.sub(" ", text)

    return text


def _plain(text: str) -> str:
    """A text with plain apostrophes, as the patterns have them."""
    return text.replace("\u2019", "'").replace("\u2018", "'")


def _marks(text: str) -> Iterator[Mark]:
    """The marks of a text, facts first."""
    facts: list[Mark] = []
    rest = text

    for kind, pattern in _FACTS.items():
        # names are told by what stands before them, so that a fact leaves a letter behind
        facts += [(kind, found) for found in pattern.findall(rest)]
        rest = pattern.sub("_", rest)

    yield from facts

    lowered = text.lower().replace("e-mail", "email")

    for _, value in facts:
        if re.search(rf"{_TAKEN_BACK}{re.escape(value.lower())}\b", lowered):
            yield "negated", value

    for kind, patterns in _NAMED.items():
        yield from ((kind, name) for name, words in patterns.items() if words.search(lowered))
    for kind, words in _FOUND.items():
        yield from ((kind, found) for found in words.findall(lowered))

    yield from (("role", found.strip()) for found in _OUT_OF_ROLE.findall(lowered))


KINDS: Sequence[str] = PATTERNS["deviations"]
"""Every kind of deviation; what each means stands in docs/storefront.md."""
_NEEDED = (*FACTS, "stance", "not", "word")
"""What a wording may not leave out."""
_WORDS_PER_WORD, _MORE_WORDS = 2, 14
"""A wording has at most so many words per word of its line, and so many more."""
_LETTERS_PER_WORD = 30
_EXTRA = PATTERNS["extra"]
_ALLOWED = PATTERNS["words"]
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")


def most_words(line: str) -> int:
    """How long a wording of a line may be."""
    return _WORDS_PER_WORD * len(line.split()) + _MORE_WORDS


def deviations(line: str, reply: Completion) -> Sequence[Deviation]:
    """All departures of a reply, each as a kind and the words that show it; none where it says what
    the line says, and nothing else.
    """
    text = (reply.content or "").strip()
    most = most_words(line)

    if reply.tool_calls:
        calls = ", ".join(call.name for call in reply.tool_calls)

        return [Deviation("plays_agent", f"it calls {calls[:80]}")]

    if not text:
        return [Deviation("silent", "nothing is said")]
    if mask_of(reply.finish_reason) is not None:
        return [Deviation("cut_off", "it ends in the middle")]
    if len(text) > _LETTERS_PER_WORD * most or len(text.split()) > most:
        return [Deviation("rambles", f"at most {most} words are enough")]

    wanted = marks(line)
    beyond = _words_beyond(line, text, wanted)
    found = set(_departures(wanted, marks(text)))

    if not found and beyond:
        found.add(Deviation("adds", f"words that go beyond the line: {', '.join(beyond)}"))

    return sorted(found, key=lambda deviation: (KINDS.index(deviation.kind), deviation.what))


def _words_beyond(line: str, text: str, wanted: Sequence[Mark]) -> list[str]:
    """Words of a wording that go beyond its line, for where its marks show nothing."""
    stances = [value for kind, value in wanted if kind == "stance"]

    if not {*PATTERNS["at_length"]}.isdisjoint(stances):
        return []

    own = _words(line)

    lists = [
        _ALLOWED["talk"],
        *(_ALLOWED["by_stance"].get(stance, "") for stance in stances),
    ]

    if any(kind in FACTS for kind, _ in wanted):
        lists += [
            _ALLOWED["detail"],
            *(_ALLOWED["by_word"].get(word, "") for word in own),
        ]

    allowed = {*own, *" ".join(lists).split()}

    return [word for word in _words(text) if word not in allowed]


def _words(text: str) -> list[str]:
    """The words of a text in lower case that are no facts, each once."""
    lowered = without_facts(text).lower().replace("all right", "alright")

    return list(dict.fromkeys(_WORD.findall(lowered)))


def _departures(wanted: Sequence[Mark], got: Sequence[Mark]) -> Iterator[Deviation]:
    """The deviations that two lists of marks show: what is missing, exchanged, or there beyond."""
    missing = [mark for mark in wanted if mark not in got and mark[0] in _NEEDED]

    for mark in missing:
        yield Deviation("omits", _shown(mark))

    for fact in FACTS:
        said, meant = ([mark for mark in some if mark[0] == fact] for some in (got, wanted))

        if said != meant and set(said) == set(meant):
            yield Deviation("contradicts", f"{fact}s in another order")

    kinds = {kind for kind, _ in wanted}
    bound = "hedge" not in kinds and not kinds.isdisjoint(FACTS)
    firm = bound or ("stance", "yes") in wanted

    for mark in (mark for mark in got if mark not in wanted):
        instead = any(other == mark[0] for other, _ in missing)
        yield from _beyond(mark, instead=instead, firm=firm)


def _beyond(mark: Mark, *, instead: bool, firm: bool) -> Iterator[Deviation]:
    """The deviation that a mark beside those of the line shows: one of its kind may be missing
    (`instead`), and the line may leave no doubt (`firm`).
    """
    kind, value = mark

    if kind in FACTS:
        yield Deviation("contradicts" if instead else "reveals", _shown(mark))
    elif kind == "stance":
        other = "contradicts" if instead else "adds"
        yield Deviation(_EXTRA.get(value, other), _shown(mark))
    elif kind in _EXTRA:
        yield Deviation(_EXTRA[kind], _shown(mark))
    elif kind == "negated" or (kind == "hedge" and firm):
        yield Deviation("contradicts", f"it takes something back: {value!r}")


def _shown(mark: Mark) -> str:
    """For instance: number 77718; in words where the value is one of ours."""
    kind, value = mark

    if kind == "stance":
        return value.replace("_", " ")

    return f"{kind} {value}" if kind in FACTS else f"{kind}: {value}"
