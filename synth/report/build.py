"""The report of a run: its sections on one page."""

from collections.abc import Callable

from synth.boundary import imported
from synth.ledger.ledger import Ledger
from synth.report.html import document, escape
from synth.report.registry import SECTIONS
from synth.report.section import Section

Rendered = Callable[[str], None]
"""Told the name of each section that is done."""


def report(ledger: Ledger, command: str, rendered: Rendered = lambda name: None) -> str:
    """The page; `command` is what gives it again. Sections that have nothing to show are left out."""
    name = str((ledger.state.flow or {}).get("name") or "run")
    parts: list[tuple[str, str, str]] = []
    for key, where in SECTIONS.items():
        section = imported(f"section {key}", where)
        assert isinstance(section, Section)
        found = section.render(ledger)
        if found is not None:
            parts.append((key, section.title, found))
        rendered(key)
    links = " · ".join(f'<a href="#{key}">{escape(title)}</a>' for key, title, _ in parts)
    body = [f'<nav aria-label="Sections"><p>{links}</p></nav></header>']
    body += [
        f'<section id="{key}" aria-labelledby="{key}-title"><h2 id="{key}-title">{escape(title)}</h2>{html}</section>'
        for key, title, html in parts
    ]
    body += [] if parts else ["<p>The run holds nothing yet: no stage has reported, and there are no trajectories.</p>"]
    body += [f"<footer><p>Made by <code>{escape(command)}</code>.</p></footer>"]
    first = parts[0][0] if parts else "top"
    return document(f"Run {name}", body, skip=(first, "Skip to the first section"), style="main { max-width: 76rem; }")
