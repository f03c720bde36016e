"""Which format a record is in, by its shape; file names are never asked."""

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Any, cast

from synth.importers.records import Format
from synth.importers.registry import IMPORTERS


@cache
def importer(name: str) -> Format:
    """The importer of a format."""
    module, _, attribute = IMPORTERS[name].partition(":")
    return cast(Format, getattr(import_module(module), attribute))


def format_of(value: Any) -> str | None:
    """The name of the first format in the registry that recognises such a record, or None."""
    return next((name for name in IMPORTERS if importer(name).recognises(value)), None)


def importer_of(value: Any) -> Format | None:
    """The importer of that format."""
    name = format_of(value)
    return None if name is None else importer(name)


def shape(value: Any) -> str:
    """A record's outline, for the message that nobody reads it: its first keys, or its type."""
    if isinstance(value, Mapping):
        return "object with " + ", ".join(repr(key) for key in list(value)[:8])
    if isinstance(value, list):
        return "array of " + (shape(value[0]) if value else "nothing")
    return f"JSON {type(value).__name__}"
