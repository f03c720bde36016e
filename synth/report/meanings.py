"""What the terms on the page mean, from `pages/meanings.yaml`."""

from collections.abc import Collection, Mapping

from synth.schemas import in_html
from synth.text.data_files import read as read_file

_WHERE = "docs/topology.md"
"""Where more is written of them."""


def meanings(section: str) -> Mapping[str, str]:
    """Of the terms of a section."""
    return read_file("report/pages/meanings.yaml", dict[str, dict[str, str]])[section]


def legend(section: str, shown: Collection[str]) -> str:
    """The meanings of the terms that are shown, for touch and paper too."""
    told = "; ".join(
        f"<b>{in_html(term)}</b>: {in_html(meaning)}"
        for term, meaning in meanings(section).items()
        if term in shown
    )
    return f'<p class="quiet legend">{told} ({_WHERE}).</p>' if told else ""
