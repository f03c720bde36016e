"""The report of a run: its sections on one page, and its trajectories behind them."""

import tempfile
from collections.abc import Callable, Iterator

from synth.boundary import imported
from synth.ledger.ledger import Ledger
from synth.report.authorship_notice import notices
from synth.report.browser.packing import pack
from synth.report.browser.page_files import script, style
from synth.report.html import closing, opening
from synth.report.registry import SECTIONS
from synth.report.section import Section
from synth.schemas.printable import in_html

Rendered = Callable[[str], None]
"""Told the name of each section that is done."""
MEGABYTES = 30
"""The size that a page keeps to; texts are shortened where they would pass it."""
_AT_ONCE = 1 << 20


def report(
    ledger: Ledger,
    command: str,
    rendered: Rendered = lambda name: None,
    *,
    megabytes: float = MEGABYTES,
) -> str:
    """The page as one text."""
    return "".join(pieces(ledger, command, rendered, megabytes=megabytes))


def pieces(
    ledger: Ledger,
    command: str,
    rendered: Rendered = lambda name: None,
    *,
    megabytes: float = MEGABYTES,
) -> Iterator[str]:
    """The page bit by bit; `command` is what gives it again. Sections that have nothing to show are
    left out.

    Trajectories are read a shard at a time and wait, compressed, in a temporary file: sections come
    first, so that they are seen first.
    """
    name = str((ledger.state.flow or {}).get("name") or "run")
    with tempfile.TemporaryFile("w+", encoding="ascii") as packed_file:
        packed = pack(ledger, packed_file, round(megabytes * 1e6) - _SECTIONS_ROOM)
        parts: list[tuple[str, str, str]] = []
        for key, where in SECTIONS.items():
            section = imported(f"section {key}", where)
            assert isinstance(section, Section)
            found = section.render(ledger, packed.stand_ins)
            if found is not None:
                parts.append((key, section.title, packed.stand_ins.in_html(found)))
            rendered(key)
        code = script() if packed.trajectories else ""
        first = parts[0][0] if parts else "top"
        yield opening(
            f"Run {name}", skip=(first, "Skip to the first section"), style=style(), script=code
        )
        links = " · ".join(f'<a href="#{key}">{in_html(title)}</a>' for key, title, _ in parts)
        yield from (
            f'\n<p class="notice">{in_html(packed.stand_ins.in_text("", line))}</p>'
            for line in notices(ledger)
        )
        yield f'\n<nav aria-label="Sections"><p>{links}</p></nav></header>\n'
        for key, title, html in parts:
            yield (
                f'<section id="{key}" aria-labelledby="{key}-title"><h2 '
                f'id="{key}-title">{in_html(title)}</h2>{html}</section>\n'
            )
        if not parts:
            yield (
                "<p>The run holds nothing yet: no stage has reported, and there are no "
                "trajectories.</p>\n"
            )
        yield f"<footer><p>Made by <code>{in_html(command)}</code>.</p></footer>\n"
        if packed.trajectories:
            packed_file.seek(0)
            while piece := packed_file.read(_AT_ONCE):
                yield piece
        yield closing(script=code) + "\n"


_SECTIONS_ROOM = 1_500_000
"""Characters that are left to the other sections."""
