"""Names of a package that are imported when they are first asked for."""

from collections.abc import Callable
from importlib import import_module
from typing import Any


def names_in(stub: str) -> dict[str, str]:
    """The names of a package and the modules that have them, by its stub, the file `__init__.pyi`:
    `from MODULE import NAME as NAME, ...` for each module.
    """
    with open(stub, encoding="utf-8") as file:  # noqa: PTH123 - pathlib takes longer than all else
        words = file.read().replace(",", " ").split()

    names, module = dict[str, str](), ""
    for at, word in enumerate(words):
        if word == "from":
            module = words[at + 1]
        elif word == "as":
            names[words[at + 1]] = module
    return names


def importer(package: str, names: dict[str, str], found: dict[str, Any]) -> Callable[[str], Any]:
    """What a package has as its `__getattr__`; keeps each value in `found`, the package's
    globals.
    """

    def get(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")

        value = found[name] = getattr(import_module(names[name]), name)
        return value

    return get
