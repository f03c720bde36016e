"""Processes of worlds, confined: no network, no home, a read-only system, a user id of their own,
and limits; and branches of a folder for them to work in.

A name is imported when it is first asked for: the keeper's process needs none of them.
`__init__.pyi` is the list of names.
"""

from synth.lazy_names import importer, names_in

_MODULES = names_in(f"{__path__[0]}/__init__.pyi")
__all__ = sorted(_MODULES)
__getattr__ = importer(__name__, _MODULES, globals())


def __dir__() -> list[str]:
    return [*__all__, "__doc__"]
