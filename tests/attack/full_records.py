"""A trajectory and a task with something in every field that their types have, and every place in
them that holds text.
"""

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import inspect

from synth.schemas.task import Task
from synth.schemas.trajectory import Trajectory

MAIL = "ann.lee@mailhost.com"
KEY = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bD1fH3jL5"
CARD = 4111111111111111
FLOAT = 0.5454545454545454
"""Whose digits behind the point pass for a card's."""
Path = tuple[str | int, ...]


def text_places(kind: type) -> list[Path]:
    """Where a value of a struct type may hold text, as keys and indices; 0 stands for any element.
    Enumerations are no text.
    """
    return list(_places(inspect.type_info(kind), ()))


def _places(kind: inspect.Type, path: Path) -> Iterator[Path]:
    if isinstance(kind, inspect.StrType | inspect.AnyType):
        yield path
    elif isinstance(kind, inspect.Metadata):
        yield from _places(kind.type, path)
    elif isinstance(kind, inspect.UnionType):
        for one in kind.types:
            yield from _places(one, path)
    elif isinstance(kind, inspect.VarTupleType | inspect.ListType):
        yield from _places(kind.item_type, (*path, 0))
    elif isinstance(kind, inspect.DictType):
        yield (*path, "<key>")
        yield from _places(kind.value_type, (*path, "<value>"))
    elif isinstance(kind, inspect.StructType):
        for field in kind.fields:
            yield from _places(field.type, (*path, field.encode_name))
    else:
        known = (
            inspect.IntType,
            inspect.FloatType,
            inspect.BoolType,
            inspect.NoneType,
            inspect.EnumType,
        )
        assert isinstance(kind, known), f"{path}: {kind} is a type that nobody has thought of"


def planted(kind: type[msgspec.Struct], path: Path, text: str) -> Any:
    """A full record of the type in which a text stands at one place."""
    record = _filled(inspect.type_info(kind))
    for name, value in CONSISTENT.get(kind, {}).items():
        record[name] = value
    return msgspec.convert(_put(record, path, text), kind)


CONSISTENT: dict[type, dict[str, Any]] = {
    Trajectory: {
        "outcome": "failure",
        "termination": "done",
        "fault": None,
        "reward": 0.0,
        "task_id": "a" * 24,
    },
    Task: {"task_id": "a" * 24},
}


def _filled(kind: inspect.Type) -> Any:
    if isinstance(kind, inspect.Metadata):
        return _filled(kind.type)
    if isinstance(kind, inspect.UnionType):
        return _filled(next(one for one in kind.types if not isinstance(one, inspect.NoneType)))
    if isinstance(kind, inspect.VarTupleType | inspect.ListType):
        return [_filled(kind.item_type)]
    if isinstance(kind, inspect.DictType):
        return {"plain": _filled(kind.value_type)}
    if isinstance(kind, inspect.StructType):
        return {field.encode_name: _filled(field.type) for field in kind.fields}
    if isinstance(kind, inspect.EnumType):
        return next(iter(kind.cls)).value
    plain: dict[type, Any] = {inspect.IntType: 1, inspect.FloatType: 0.5, inspect.BoolType: False}
    return plain.get(type(kind), "plain")


def _put(record: Any, path: Path, text: str) -> Any:
    if not path:
        return text
    first, *rest = path
    if first == "<key>":
        return dict.fromkeys((text,), *record.values())
    if first == "<value>":
        return {key: _put(value, tuple(rest), text) for key, value in record.items()}
    if isinstance(record, list):
        return [_put(record[0], tuple(rest), text)]
    return record | {first: _put(record[first], tuple(rest), text)}
