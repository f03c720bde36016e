"""Pages that need nothing else: no scripts, no fonts, no network."""

import re
from collections.abc import Sequence
from html import escape as _escape

from schemas.printable import printable
from synth.report.style import STYLE

_NUMBER = re.compile(r"^[-+]?[\d.,]+(?: ?(?:%|KiB|MiB|ms|s))?$|^-$")


def document(title: str, body: Sequence[str], *, skip: tuple[str, str], style: str = "") -> str:
    """A whole page; its `body` closes the header that this opens. `skip`: where the link for keyboards leads, and what it says."""
    target, words = skip
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en">',
            '<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">',
            f'<title>{escape(title)}</title><link rel="icon" href="data:,"><style>{STYLE}{style}</style></head>',
            f'<body><a class="skip" href="#{escape(target)}">{escape(words)}</a>',
            "<main>",
            f"<header><h1>{escape(title)}</h1>",
            *body,
            "</main></body></html>",
            "",
        ]
    )


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table with a caption; a column of numbers is set to the right."""
    numeric = [bool(rows) and all(_NUMBER.match(row[index]) for row in rows) for index in range(len(columns))]
    kinds = [' class="number"' if is_number else "" for is_number in numeric]
    head = "".join(f'<th scope="col"{kind}>{escape(column)}</th>' for column, kind in zip(columns, kinds, strict=True))
    lines = "".join(
        "<tr>" + "".join(f"<td{kind}>{escape(cell)}</td>" for cell, kind in zip(row, kinds, strict=True)) + "</tr>" for row in rows
    )
    caption = f"<caption>{escape(title)}</caption>"
    region = f'<div class="scroll table" tabindex="0" role="group" aria-label="{escape(title)}">'
    return f"{region}<table>{caption}<thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table></div>"


def escape(text: str) -> str:
    """A text as a page can hold it: control characters and lone surrogates shown by their escapes."""
    return _escape(printable(text, keep="\n"))
