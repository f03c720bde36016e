"""The texts of `data/`, which a publication fills in: the card, and what a dry run shows."""

from functools import cache
from importlib.metadata import version
from importlib.resources import files
from textwrap import shorten
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined

from synth.datasets.release import binding
from synth.engine.funnel import counted
from synth.engine.numbers import counted_noun
from synth.exporters.registry import kind_of
from synth.hub.card.tables import table
from synth.schemas import in_cell, in_code, in_markdown


def written(name: str, **values: Any) -> str:
    """A text with values set in. Its filters `cell`, `code` and `line` escape for Markdown."""
    return _environment().get_template(name).render(values)


@cache
def _environment() -> Environment:
    data = files("synth.hub") / "data"
    made = Environment(
        loader=FunctionLoader(lambda name: (data / name).read_text(encoding="utf-8")),
        lstrip_blocks=True,
        trim_blocks=True,
        undefined=StrictUndefined,
    )
    made.filters |= {"cell": in_cell, "code": in_code, "line": in_markdown}
    made.globals |= {
        "binding": binding,
        "counted": counted,
        "counted_noun": counted_noun,
        "kind_of": kind_of,
        "shorten": shorten,
        "table": table,
        "version": version("synth-trajectories"),
    }
    return made
