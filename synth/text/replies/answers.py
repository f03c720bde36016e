"""Which of the objects in a reply is its answer: one that nothing behind it takes back, and no
other contradicts.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import msgspec
from msgspec import inspect

from synth.text.replies.fitted import NoFitError, fitted, known, named_as, unwrapped
from synth.text.replies.lines import IN_LINES, in_lines
from synth.text.replies.objects import UNCLOSED, PlacedObject, objects_in, placed_in, plain_text
from synth.text.replies.taken_back import takes_back

T = TypeVar("T")
FITTED = "json_values_fitted"
DIFFER = "it holds several different answers"
TAKEN_BACK = "what stands behind the answer takes it back"


def candidates(content: str, names: Sequence[str]) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
    """The objects of a reply that have any of these names, spelled as they are, and what was
    mended; of those between which the reply takes back what it said, the last ones. Raises
    `NoFitError` where a name stands twice in one, and where all is taken back.
    """
    text, found, mended = placed_in(content)
    inside = [(unwrapped(one.value, names), one) for one in found]
    fitting = [(named_as(value, names), one) for value, one in inside if known(value, names)]
    if not fitting:
        return _of_lines(content, names, mended)
    if UNCLOSED in mended and not set(names) <= fitting[-1][0].keys():
        fitting.pop()  # what it lacks may have been cut off

    respelled = any(set(value) != set(one.value) for value, one in fitting)
    return _standing(text, fitting), (*mended, FITTED) if respelled else mended


def _standing(
    text: str, fitting: Sequence[tuple[dict[str, Any], PlacedObject]]
) -> list[dict[str, Any]]:
    """Those of a reply's answers that it does not take back. Raises `NoFitError` where it takes
    back all.
    """
    standing = list[dict[str, Any]]()
    for at, (value, one) in enumerate(fitting):
        behind = text[one.end : fitting[at + 1][1].begin if at + 1 < len(fitting) else None]
        standing.append(value)
        if takes_back(behind):
            standing.clear()
    if fitting and not standing:
        raise NoFitError(TAKEN_BACK)

    return standing


def _of_lines(
    content: str, names: Sequence[str], mended: tuple[str, ...]
) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
    """The answer of a reply without JSON, and what was mended."""
    text = plain_text(content)
    lines = in_lines(text, names)
    if lines is None:
        return [], mended
    _, _, further = text.partition("\n\n")
    if takes_back(f"\n{further}", paragraphs=True):
        raise NoFitError(TAKEN_BACK)
    return [lines], (*mended, IN_LINES)


def only_answer(content: str, names: Sequence[str]) -> dict[str, Any] | None:
    """The one object that has the most of these names; None where none has any. Raises
    `NoFitError` where several differ.
    """
    found, _ = candidates(content, names)
    most = max((known(one, names) for one in found), default=0)
    whole = [one for one in found if known(one, names) == most]
    if any(one != whole[0] for one in whole):
        raise NoFitError(DIFFER)
    return whole[0] if whole else None


def one_of(content: str, kind: type[T]) -> tuple[T, tuple[str, ...]]:
    """The one value of a struct's type that a reply holds, and what was mended in it. Raises
    `NoFitError` where it holds none, or several that differ.
    """
    info = inspect.type_info(kind)
    names = [one.encode_name for one in info.fields] if isinstance(info, inspect.StructType) else []
    values: Sequence[Mapping[str, Any]]
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
        raise NoFitError(DIFFER)
    return read[0], mended
