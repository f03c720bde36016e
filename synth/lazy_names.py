"""Names of a package that are imported when they are first asked for."""

from collections.abc import Callable
from importlib import import_module
from typing import Any


def names_in(stub: str) -> dict[str, str]:
    """The names of a package and the modules that have them: each line of its stub, the file
    `__init__.pyi`, that is `from MODULE import NAME as NAME`.
    """
    with open(stub, encoding="utf-8") as lines:  # noqa: PTH123 - pathlib takes longer than all else
        imports = [line.split() for line in lines if line.startswith("from ")]

    return {words[-1]: words[1] for words in imports}


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
