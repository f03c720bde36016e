"""The page's own script and style, from the files beside this one."""

from importlib.resources import files

SCRIPTS = ("words", "data", "compare", "trajectory", "side_by_side", "list", "main")
_PAGE = files("synth.report.browser") / "page"


def script() -> str:
    """One script, in strict mode, that leaves no name behind."""
    parts = [(_PAGE / f"{name}.js").read_text(encoding="utf-8") for name in SCRIPTS]
    return "(() => {\n'use strict';\n" + "\n".join(parts) + "\n})();"


def style() -> str:
    """What the report has beyond the look of all pages."""
    return (_PAGE / "report.css").read_text(encoding="utf-8")
