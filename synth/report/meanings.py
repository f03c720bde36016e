"""What the terms on the page mean, from `pages/meanings.yaml`."""

from collections.abc import Collection, Mapping
from functools import cache
from importlib.resources import files

from synth.schemas import in_html, read_yaml

_WHERE = "docs/topology.md"
"""Where more is written of them."""


@cache
def meanings(section: str) -> Mapping[str, str]:
    """Of the terms of a section."""
    text = files("synth.report").joinpath("pages/meanings.yaml").read_text(encoding="utf-8")
    found: Mapping[str, str] = read_yaml(text, "meanings")[section]
    return found


def legend(section: str, shown: Collection[str]) -> str:
    """The meanings of the terms that are shown, for touch and paper too."""
    told = "; ".join(
        f"<b>{in_html(term)}</b>: {in_html(meaning)}"
        for term, meaning in meanings(section).items()
        if term in shown
    )
    return f'<p class="quiet legend">{told} ({_WHERE}).</p>' if told else ""
