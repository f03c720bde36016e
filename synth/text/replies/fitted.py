"""Values of a reply, fitted to the type that was asked for where that has one meaning: "Step 0" is
0, "Failure" the choice `failure`, a list of one its member.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import msgspec
from msgspec import inspect

from synth.text.replies.lines import IN_LINES, in_lines, plain_key
from synth.text.replies.loose_json import LooseJSONError, loose_json
from synth.text.replies.objects import UNCLOSED, objects_in, plain_text

T = TypeVar("T")
FITTED = "json_values_fitted"
DEEPEST = 4
"""Objects in each other in which an answer may be wrapped."""
_WITH_A_WORD = re.compile(
    r"[\s#(\['\"]*(?:[A-Za-z]+[\s#:]{1,2})?(?P<number>[0-9]{1,9})(?:\.0+)?[\s.:)\]'\"]*"
)
_YES = {"true": True, "yes": True, "false": False, "no": False}
_NOTHING = frozenset({"null", "none"})


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


def candidates(content: str, names: Sequence[str]) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
    """The objects of a reply that have any of these names, spelled as they are, and what was
    mended. Raises `NoFitError` where a name stands twice in one.
    """
    found, mended = objects_in(content)
    inside = [unwrapped(value, names) for value in found]
    fitting = [named_as(value, names) for value in inside if known(value, names)]
    if not fitting and (lines := in_lines(plain_text(content), names)) is not None:
        return [lines], (*mended, IN_LINES)
    if UNCLOSED in mended and fitting and not set(names) <= fitting[-1].keys():
        fitting.pop()  # what it lacks may have been cut off
    respelled = any(
        before is not after and set(before) != set(after)
        for before, after in zip(found, fitting, strict=False)
    )
    return fitting, (*mended, FITTED) if respelled else mended


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
        return _YES.get(value.strip(" .").casefold(), value)
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
    return value is None or (isinstance(value, str) and value.strip(" .").casefold() in _NOTHING)


def _struct(value: Mapping[str, Any], kind: inspect.StructType) -> dict[str, Any]:
    kinds = {field.encode_name: field.type for field in kind.fields}
    named = named_as(value, tuple(kinds))
    return {key: fitted(one, kinds[key]) if key in kinds else one for key, one in named.items()}


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
    return int(named["number"]) if named is not None else value


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


def one_of(content: str, kind: type[T]) -> tuple[T, tuple[str, ...]]:
    """The one value of a struct's type that a reply holds, and what was mended in it. Raises
    `NoFitError` where it holds none, or several that differ.
    """
    info = inspect.type_info(kind)
    names = [one.encode_name for one in info.fields] if isinstance(info, inspect.StructType) else []
    values, mended = candidates(content, names) if names else objects_in(content)
    if not values:
        raise NoFitError("it holds no JSON object")

    read: list[T] = []
    why: Exception | None = None
    for value in values:
        fit = fitted(value, info)
        mended = mended if fit == value or FITTED in mended else (*mended, FITTED)
        try:
            one = msgspec.convert(fit, kind)
        except (msgspec.ValidationError, RecursionError, OverflowError) as error:
            why = error
            continue
        read += [] if one in read else [one]
    if not read:
        raise NoFitError(f"it is not the JSON object asked for: {why}"[:300]) from why
    if len(read) > 1:
        raise NoFitError("it holds several different answers")
    return read[0], mended
