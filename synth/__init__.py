"""The public API: `from synth import ...`. Every other name is private and may change.

A name is imported when it is first asked for: `import synth` loads no package but this one.
`__init__.pyi` is the list of names, for this module and for type checkers.
"""

from synth.lazy_names import importer, names_in

_MODULES = names_in(f"{__path__[0]}/__init__.pyi")
__all__ = sorted(_MODULES)
__getattr__ = importer(__name__, _MODULES, globals())


def __dir__() -> list[str]:
    return [*__all__, "__doc__"]
