"""The public API: `from synth import ...`. Every other name is private and may change.

A name is imported when it is first asked for: `import synth` loads no package but this one.
`__init__.pyi` is the list of names, for this module and for type checkers.
"""

from importlib import import_module
from typing import Any

# each line is `from MODULE import NAME as NAME`
with open(f"{__path__[0]}/__init__.pyi", encoding="utf-8") as _stub:  # noqa: PTH123 - loads pathlib
    _IMPORTS = [line.split() for line in _stub if line.startswith("from ")]

_MODULES = {words[-1]: words[1] for words in _IMPORTS}
__all__ = sorted(_MODULES)


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'synth' has no attribute {name!r}")

    value = globals()[name] = getattr(import_module(_MODULES[name]), name)
    return value


def __dir__() -> list[str]:
    return [*__all__, "__doc__"]
