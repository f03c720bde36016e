"""The types that travel, and the protocols that parts meet through:
`from synth.schemas import ...`.

A name is imported when it is first asked for; `__init__.pyi` is the list of names.
"""

from synth.lazy_names import importer, names_in

_MODULES = names_in(f"{__path__[0]}/__init__.pyi")
__getattr__ = importer(__name__, _MODULES, globals())
