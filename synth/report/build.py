"""The report of a run: its sections on one page, and its trajectories behind them."""

import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from importlib.resources import files

from synth.boundary import imported
from synth.ledger.ledger import StoredLedger
from synth.report.authorship import notices
from synth.report.browser.packing import pack
from synth.report.browser.stand_ins import StandIns
from synth.report.section import SECTIONS, Section
from synth.report.templates import rendered, streamed
from synth.report.written import MEGABYTES

Done = Callable[[str], None]
"""Told the name of each section that is done."""
_SECTIONS_ROOM = 1_500_000
"""Characters that are left to the other sections."""
_AT_ONCE = 1 << 20
SCRIPTS = ("words", "data", "compare", "trajectory", "side_by_side", "list", "main")
_BROWSER = files("synth.report.browser") / "page"


def pieces(
    ledger: StoredLedger, command: str, done: Done, *, megabytes: float = MEGABYTES
) -> Iterator[str]:
    """The page bit by bit; `command` is what gives it again. Sections that have nothing to show are
    left out.

    Trajectories are read a shard at a time and wait, compressed, in a temporary file: sections come
    first, so that they are seen first.
    """
    name = str((ledger.state.flow or {}).get("name") or "run")

    with tempfile.TemporaryFile("w+", encoding="ascii") as packed_file:
        packed = pack(ledger, packed_file, round(megabytes * 1e6) - _SECTIONS_ROOM)
        stand_ins = packed.stand_ins
        sections = list(_sections(ledger, stand_ins, done))

        packed_file.seek(0)
        yield from streamed(
            "report.html",
            title=f"Run {name}",
            notices=[stand_ins.in_text("", line) for line in notices(ledger)],
            sections=sections,
            command=command,
            skip=sections[0]["key"] if sections else "top",
            style=rendered("page.css") + (_BROWSER / "report.css").read_text(encoding="utf-8"),
            script=_script() if packed.trajectories else "",
            # the list of no trajectories is written too, and not shown
            packed=iter(partial(packed_file.read, _AT_ONCE), "") if packed.trajectories else (),
        )


def _sections(ledger: StoredLedger, stand_ins: StandIns, done: Done) -> Iterator[dict[str, str]]:
    """Those that have something to show."""
    for key, where in SECTIONS.items():
        section = imported(f"section {key}", where)
        assert isinstance(section, Section)

        html = section.render(ledger, stand_ins)
        if html is not None:
            yield {"key": key, "title": section.title, "html": stand_ins.in_html(html)}

        # one that is left out is done too
        done(key)


def _script() -> str:
    """One script, in strict mode, that leaves no name behind."""
    parts = [(_BROWSER / f"{name}.js").read_text(encoding="utf-8") for name in SCRIPTS]
    return "(() => {\n'use strict';\n" + "\n".join(parts) + "\n})();"
