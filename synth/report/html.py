"""Pages that need nothing else: no fonts, no network, and no script but one that the page itself
names by its digest.
"""

import base64
from collections.abc import Collection, Mapping, Sequence
from hashlib import sha256

from synth.report.style import STYLE
from synth.schemas.printable import in_html


def document(title: str, body: Sequence[str], *, skip: tuple[str, str], style: str = "") -> str:
    """A whole page; its `body` closes the header that this opens. `skip`: where the link for
    keyboards leads, and what it says.
    """
    return "\n".join([opening(title, skip=skip, style=style), *body, closing(), ""])


def opening(title: str, *, skip: tuple[str, str], style: str = "", script: str = "") -> str:
    """A page up to its title; `script` is what `closing` will hold. Nothing can be loaded into the
    page, by no markup in it.
    """
    target, words = skip
    allowed = (
        f"script-src 'sha256-{base64.b64encode(sha256(script.encode()).digest()).decode()}'; "
        if script
        else ""
    )
    policy = (
        f"default-src 'none'; {allowed}style-src 'unsafe-inline'; img-src data:; base-uri "
        "'none'; form-action 'none'"
    )
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en">',
            '<head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" '
            f'content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1"><meta '
            'name="referrer" content="no-referrer">',
            f'<title>{in_html(title)}</title><link rel="icon" '
            f'href="data:,"><style>{STYLE}{style}</style></head>',
            f'<body><a class="skip" href="#{in_html(target)}">{in_html(words)}</a>',
            "<main>",
            f"<header><h1>{in_html(title)}</h1>",
        ]
    )


def closing(data: Sequence[str] = (), script: str = "") -> str:
    """The end of a page."""
    return "".join(
        ["</main>", *data, f"<script>{script}</script>" if script else "", "</body></html>"]
    )


def legend(meanings: Mapping[str, str], shown: Collection[str], where: str) -> str:
    """What the terms on the page mean, for touch and paper too, and where more is written of
    them.
    """
    told = "; ".join(
        f"<b>{in_html(term)}</b>: {in_html(meaning)}"
        for term, meaning in meanings.items()
        if term in shown
    )
    return f'<p class="quiet legend">{told} ({in_html(where)}).</p>' if told else ""
