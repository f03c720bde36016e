"""Small libraries of Python, written by hand, that are broken in every way."""

from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

from synth.envs.repo.broken import Breaking, BrokenTree
from synth.envs.repo.pool import Library


def write_library(pool: Path, texts: Mapping[str, str], name: str = "mini") -> tuple[Library, Path]:
    """A library in a pool's folder; what is named test_ are its tests."""
    base = pool / "bases" / name
    for path, text in texts.items():
        place = base / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    tests = [path for path in texts if path.rpartition("/")[2].startswith("test_")]
    library = Library(
        name=name,
        engine="python",
        digest="d",
        tests={f"{path}::test": path for path in tests},
        source=tuple(path for path in texts if path not in tests),
        protected=("test_*.py",),
    )
    return library, base


def broken_by(breaking: Breaking, pool: Path, texts: Mapping[str, str]) -> list[BrokenTree]:
    """All that a kind offers for a library."""
    library, base = write_library(pool, texts)
    return list(breaking(library, base, Random(7)))


def one_of(offered: list[BrokenTree], operators: str) -> BrokenTree:
    """The only broken tree that was made in this way."""
    found = [one for one in offered if one.about["operators"] == operators]
    assert len(found) == 1, [one.about for one in offered]
    return found[0]


def value(text: str | None, expression: str) -> Any:
    """What an expression comes to beside a file's text; the name of an error where it raises."""
    names: dict[str, Any] = {}
    exec(text or "", names)
    try:
        return eval(expression, names)
    except Exception as error:  # noqa: BLE001 - whatever the broken code raises
        return type(error).__name__
