"""Pages that need nothing else: no fonts, no network, and no script but one that the page itself
names by its digest. Their markup stands in `pages/`, where every value is escaped as it is set in.
"""

import base64
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from synth.schemas import in_html

if TYPE_CHECKING:
    from jinja2 import Environment


class EscapedHtml(str):
    """Text as HTML and SVG may show it."""

    __slots__ = ()

    def __html__(self) -> str:
        """Says to templates that this is escaped already."""
        return self


def rendered(page: str, **values: Any) -> str:
    """A page of `pages/`, or a part of one."""
    return _environment().get_template(page).render(values)


def streamed(page: str, **values: Any) -> Iterator[str]:
    """The same bit by bit, for pages that hold more than memory should."""
    return _environment().get_template(page).generate(values)


@cache
def drawings() -> Any:
    """The small pictures of `pages/drawings.html`, as functions."""
    return _environment().get_template("drawings.html").module


@cache
def _environment() -> "Environment":
    # a fraction of a second that only pages cost
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    pages = files("synth.report") / "pages"
    made = Environment(
        autoescape=True,
        finalize=_escaped,
        loader=FunctionLoader(lambda name: (pages / name).read_text(encoding="utf-8")),
        lstrip_blocks=True,
        trim_blocks=True,
        undefined=StrictUndefined,
    )
    made.filters["sha256"] = _digest
    return made


def _escaped(value: Any) -> Any:
    """Every value of every page comes by here."""
    return value if hasattr(value, "__html__") else EscapedHtml(in_html(str(value)))


def _digest(script: str) -> str:
    """As browsers compare it with the script that they find on the page."""
    return base64.b64encode(sha256(script.encode()).digest()).decode()
