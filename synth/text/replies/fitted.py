"""Values of a reply, fitted to the type that was asked for where that has one meaning: "Step 0" is
0, "Failure" the choice `failure`, a list of one its member.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import inspect

from synth.text.data_files import read
from synth.text.replies.lines import plain_key
from synth.text.replies.loose_json import LooseJSONError, loose_json

DEEPEST = 4
"""Objects in each other in which an answer may be wrapped."""
_WITH_A_WORD = re.compile(
    r"[\s#(\['\"]*(?:(?P<noun>[^\W\d]+)[\s#:.]{1,2})?"
    r"(?:(?P<number>\d{1,9})(?:\.0+)?|(?P<word>[^\W\d]{1,6}))"
    r"[\s.:)\]'\"]*(?:\((?!.*\b(?:or|to|and)\b)[^()\d/]*\)\.?)?"
)
"""Also with a remark in brackets behind it that names no other."""
_OF_A_CALL = frozenset({"id", "type", "index"})
"""What stands in a call of OpenAI's form beside its name and arguments."""
_ARGUMENTS = ("parameters", "args", "input")
"""Other names of a call's arguments."""


class ValueWords(msgspec.Struct, frozen=True):
    """`data/replies/values.yaml`: words for truth, for nothing, and the numbers from zero on, by
    language; before a number `others` make another one of it, and `steps` name what is counted.
    """

    yes: frozenset[str]
    no: frozenset[str]
    nothing: frozenset[str]
    others: frozenset[str]
    steps: frozenset[str]
    numbers: Mapping[str, Sequence[str]]

    @property
    def truths(self) -> Mapping[str, bool]:
        """Each word for a truth value."""
        return dict.fromkeys(self.yes, True) | dict.fromkeys(self.no, False)

    def number(self, word: str) -> int | None:
        """The number that a word names."""
        of = (names for names in self.numbers.values() if word in names)
        return next((names.index(word) for names in of), None)


def _words() -> ValueWords:
    found: ValueWords = read("data/replies/values.yaml", ValueWords)
    return found


class NoFitError(ValueError):
    """A reply holds nothing of the form asked for; the message says why, to the model too."""


def named_as(value: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """An object whose keys are spelled as these names are; a name itself counts before another
    spelling of it.
    """
    by_plain = {plain_key(name): name for name in names}
    found = {key: one for key, one in value.items() if key in by_plain.values()}
    for key, one in value.items():
        name = by_plain.get(plain_key(key), key)
        if key not in found and name in found:
            raise NoFitError(f"{name}: it stands twice, as {key[:40]!r} too")
        found.setdefault(name, one)
    return found


def unwrapped(value: Mapping[str, Any], names: Sequence[str]) -> Mapping[str, Any]:
    """The object itself, or the only one in it that has more of these names, whatever it is called
    there and whatever stands beside it (`{"response": {...}}`, a call with `arguments`).
    """
    for _ in range(DEEPEST):
        inside = [_object(one) for one in value.values()]
        own = known(value, names)
        more = [one for one in inside if one is not None and known(one, names) > own]
        deeper = inside[0] if len(value) == 1 and not own else None
        if len(more) != 1 and deeper is None:
            break
        value = more[0] if len(more) == 1 else deeper or value
    return value


def _object(value: Any) -> Mapping[str, Any] | None:
    """The object that a value is, alone in a list, or as a text; else None."""
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, str) and value.lstrip().startswith("{"):
        value = _object_in(value)
    return value if isinstance(value, dict) else None


def known(value: Mapping[str, Any], names: Sequence[str]) -> int:
    """How many of the names an object has."""
    return len({plain_key(name) for name in names} & set(map(plain_key, value)))


def fitted(value: Any, kind: inspect.Type) -> Any:
    """The value, made one of a type where it stands for one; else as it is."""
    if isinstance(kind, inspect.UnionType):
        return _of_several(value, kind)
    if isinstance(kind, inspect.ListType):
        items = value if isinstance(value, list) else [value]
        return [fitted(one, kind.item_type) for one in items]
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(kind, inspect.StructType) and isinstance(value, Mapping):
        return _struct(value, kind)
    if isinstance(kind, inspect.DictType) and isinstance(value, str):
        return _object_in(value)
    if isinstance(kind, inspect.LiteralType):
        return choice(value, kind.values)
    if isinstance(kind, inspect.BoolType) and isinstance(value, str):
        return _words().truths.get(value.strip(" .。").casefold(), value)
    if isinstance(kind, inspect.IntType):
        return whole_number(value)
    if isinstance(kind, inspect.StrType):
        return as_text(value)
    return value


def _of_several(value: Any, kind: inspect.UnionType) -> Any:
    """A value of one of several types; a word for nothing is None where that is one of them."""
    if kind.includes_none and (is_nothing(value)):
        return None
    others = [one for one in kind.types if not isinstance(one, inspect.NoneType)]
    return fitted(value, others[0]) if len(others) == 1 else value


def is_nothing(value: Any) -> bool:
    """Whether a value is null, or a word for it."""
    if not isinstance(value, str):
        return value is None
    return value.strip(" .。").casefold() in _words().nothing


def _struct(value: Mapping[str, Any], kind: inspect.StructType) -> dict[str, Any]:
    kinds = {field.encode_name: field.type for field in kind.fields}
    named = named_as(unwrapped(value, tuple(kinds)), tuple(kinds))
    if {"name", "arguments"} <= kinds.keys():
        named = _call(named)
    return {key: fitted(one, kinds[key]) if key in kinds else one for key, one in named.items()}


def _call(named: Mapping[str, Any]) -> dict[str, Any]:
    """A call without what OpenAI's form has beside name and arguments, and with another family's
    name for the arguments.
    """
    others = [one for one in _ARGUMENTS if one in named]
    named = {key: one for key, one in named.items() if key not in _OF_A_CALL}
    if "arguments" not in named and len(others) == 1:
        named["arguments"] = named.pop(others[0])
    return named


def choice(value: Any, choices: Sequence[Any]) -> Any:
    """The choice that a text spells, capitals and blanks aside; else the value."""
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, str) and value not in choices:
        meant = [one for one in choices if plain_key(str(one)) == plain_key(value)]
        return meant[0] if len(meant) == 1 else value
    return value


def whole_number(value: Any) -> Any:
    """The number that a value is, or that a text names as the only one, with a word before it at
    most ("Step 3"); else the value.
    """
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    named = _WITH_A_WORD.fullmatch(value) if isinstance(value, str) else None
    if named is None:
        return value
    words, noun = _words(), (named["noun"] or "").casefold()
    if named["number"] is not None:
        return value if noun in words.others else int(named["number"])
    # "twenty one" is not one
    number = words.number(named["word"].casefold()) if noun in {"", *words.steps} else None
    return value if number is None else number


def as_text(value: Any) -> Any:
    """A text, or the lines of a list of texts; else the value."""
    if isinstance(value, list) and value and all(isinstance(one, str) for one in value):
        return "\n".join(value)
    return value


def _object_in(text: str) -> Any:
    """The object that a text holds, or the text."""
    try:
        value, end = loose_json(text)
    except LooseJSONError:
        return text
    return value if isinstance(value, dict) and not text[end:].strip() else text
