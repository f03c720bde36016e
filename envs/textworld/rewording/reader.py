"""Reads a goal in anybody's words by the names of the game's things: a verb right before a name, or
a state right after it, and before a place the word that says where.

Polite words, greetings and reasons stand beside; a sentence that names a thing and is not read, or
is read in two ways, makes the whole goal unreadable. A model's words for a goal are accepted where
they are read as its wishes.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache, lru_cache

import msgspec

from synth.envs.textworld.commands import Command
from synth.envs.textworld.config import validated
from synth.envs.textworld.games import made_games
from synth.envs.textworld.wishes import read as read_own
from synth.schemas import Draft
from synth.text.data_files import read as data_file

Kinds = Mapping[str, str]
"""Name of a thing -> its type in the game: r room, s support, c container, d door, k key, ..."""
_SENTENCE = re.compile(r"(?<=[.!?;]) +|\n+")
_THE = r"(?:the|that|this|your|its|an?) "
_LONGEST = 60
"""Words of one wish of a model's."""
_NOT_OPEN = re.compile(
    r",?(?: but| and)? (?:(?:do not|don't|never|without) open(?:ing)? it"
    r"|(?:leave|keep) (?:it|that) (?:closed|shut))",
    re.IGNORECASE,
)


class _WishWords(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"not_": "not"}):
    """data/wishes.yaml."""

    before: Mapping[str, str]
    after: Mapping[str, str]
    on: str
    in_: str = msgspec.field(name="in")
    floor: str
    must: str
    stands: str
    not_: str


@cache
def _words() -> _WishWords:
    found: _WishWords = data_file("envs/textworld/data/wishes.yaml", _WishWords)
    return found


def read(goal: str, kinds: Kinds) -> list[Command]:
    """The wishes of a goal, in its order; none where one is not read."""
    own = read_own(goal)
    if own:
        return own

    found: list[Command] = []
    named = re.compile(rf"\b(?:{_any(kinds)})\b", re.IGNORECASE)

    for sentence in filter(named.search, _SENTENCE.split(goal)):
        wish = next(iter(read_own(sentence)), None) or read_sentence(sentence, kinds)
        if wish is None:
            return []
        found.append(wish)

    return found


def read_sentence(sentence: str, kinds: Kinds) -> Command | None:
    """The one wish of a sentence; None where there is none, or more than one can be meant."""
    is_shut = _NOT_OPEN.search(sentence) is not None
    plain = _NOT_OPEN.sub("", sentence)
    if re.search(rf"\b(?:{_words().not_})(?!\w)", plain, re.IGNORECASE):
        return None

    named = {one.casefold() for one in re.findall(rf"\b(?:{_any(kinds)})\b", plain, re.I)}
    wishes = {
        wish
        for wish in _wishes(plain, kinds)
        if {one.casefold() for one in wish.arguments} == named
    }
    unlocks = {wish for wish in wishes if wish.tool == "unlock"}
    wishes = unlocks if is_shut else wishes - unlocks

    return next(iter(wishes)) if len(wishes) == 1 else None


def _wishes(text: str, kinds: Kinds) -> Iterator[Command]:
    """All that a sentence may wish for, by each way to put it."""
    proper = {name.casefold(): name for name in kinds}

    for tool, pattern in _patterns(tuple(sorted(kinds.items()))):
        for found in pattern.finditer(text):
            things = [proper[found["thing"].casefold()]]
            if "place" in found.groupdict():
                things.append(proper[found["place"].casefold()])

            yield Command(tool, tuple(things))


@lru_cache(maxsize=16)
def _patterns(kinds: tuple[tuple[str, str], ...]) -> list[tuple[str, re.Pattern[str]]]:
    """(tool, what reads a wish for it) for the things of a game."""
    words = _words()
    of = {
        kind: _any([name for name, own in kinds if own == kind]) for kind in {k for _, k in kinds}
    }
    thing = rf"{_THE}(?P<thing>{_any([name for name, kind in kinds if kind not in 'rs'])})\b"
    be = rf"(?:,? (?:{words.must}))?(?: (?:{words.stands}))"
    found = list[tuple[str, str]]()

    for tool in ("take", "eat", "unlock", "open", "close", "lock"):
        found.append(
            (tool, rf"\b(?:{words.before[tool]}) {thing}(?! (?:{words.on}|{words.in_}) the )")
        )

    for tool, state in words.after.items():
        found.append((tool, rf"\b{thing}(?:{be})? (?:{state})\b"))

    places = (("put", words.on, "s"), ("insert", words.in_, "c"), ("drop", words.floor, "r"))
    for tool, preposition, kind in places:
        if kind in of:
            place = rf"\b(?:{preposition}) {_THE}(?P<place>{of[kind]})\b"
            found += [(tool, pattern) for pattern in _of_place(tool, thing, be, place)]

    return [(tool, re.compile(pattern, re.IGNORECASE)) for tool, pattern in found]


def _of_place(tool: str, thing: str, be: str, place: str) -> Iterator[str]:
    """The ways to wish for a thing at a place."""
    verbs = _words().before["drop" if tool == "drop" else "place"]
    yield rf"\b(?:{verbs}) {thing}(?: back| down| behind)?,? {place}"
    yield rf"\b{thing}{be} {place}"
    bare = thing.replace(_THE, f"(?:{_THE})?", 1)
    yield rf"^{bare} {place}[.!]?$"
    yield rf"{place},?(?: [a-z]+)? (?:{verbs}) {thing}"


def _any(names: Collection[str]) -> str:
    """A pattern of any of these, the longest first; of nothing where there are none."""
    ordered = sorted(names, key=lambda name: (-len(name), name))
    return "|".join(map(re.escape, ordered)) or r"(?!)"


def kinds_of(draft: Draft) -> Kinds:
    """The things of a draft's game by their names."""
    config, seed = validated(draft.env_config or {}), draft.seed or 0
    (made,) = made_games(config, [seed])
    return {str(info.name): str(info.type) for info in made.game.infos.values() if info.name}


def reworded(draft: Draft, lines: Sequence[str]) -> Draft:
    """The draft with its wishes in other words. Raises `ValueError` where these are read as others,
    or as none.
    """
    wishes, kinds = read_own(draft.goal), kinds_of(draft)
    said = [" ".join(line.split()) for line in lines]
    worded = " ".join(line if line[-1:] in ".!?" else f"{line}." for line in said if line)

    if len(worded.split()) > _LONGEST * len(wishes):
        raise ValueError(f"more than {_LONGEST} words for each wish")

    got = read(worded, kinds)
    if got == wishes:
        return msgspec.structs.replace(draft, worded=worded)

    names = [name for wish in wishes for name in wish.arguments]
    lacking = [name for name in names if name.casefold() not in worded.casefold()]
    wanted, read_as = ("; ".join(map(_said, some)) or "nothing" for some in (wishes, got))
    why = f"it does not name: {', '.join(lacking)}" if lacking else f"it is read as: {read_as}"
    raise ValueError(f"{why}; it is to say, one sentence each: {wanted}")


def _said(wish: Command) -> str:
    return f"{wish.tool} {' / '.join(wish.arguments)}"
