"""The trajectories: a list that is searched and filtered, each one to be opened, any two to be set
side by side.
"""

from synth.ledger.ledger import Ledger
from synth.report.browser.stand_ins import StandIns
from synth.report.section import Section

_FILTERS = (("task", "Task"), ("method", "Method"), ("outcome", "Outcome"), ("reason", "Reason"))
_KEYS = (
    ("j, k", "next, previous row or turn"),
    ("Enter", "open"),
    ("n, p", "next, previous trajectory of the list"),
    ("d", "set beside the one it continues"),
    ("/", "search"),
    ("Escape", "close"),
)


def render(ledger: Ledger, stand_ins: StandIns) -> str | None:
    """The empty list, which the page's script fills."""
    if next(ledger.records(), None) is None:
        return None
    selects = "".join(
        f'<label>{title}<select id="filter-{name}"><option value="">all</option></select></label>'
        for name, title in _FILTERS
    )
    keys = "".join(f"<span><kbd>{key}</kbd> {what}</span>" for key, what in _KEYS)
    return f"""<noscript><p>The list needs scripts; everything above does not.</p></noscript>
<form id="tools" role="search" aria-label="Search trajectories"><label class="wide">Search
<input id="search" type="search" placeholder="words in any text, an id, a goal" autocomplete="off" spellcheck="false"></label>{selects}
<button type="button" id="clear">Clear</button></form>
<p id="status" role="status" class="quiet">Opening the list ...</p>
<p id="notes" class="quiet"></p>
<p class="keys quiet" aria-label="Keys">{keys}</p>
<table id="list"><caption class="hidden">Trajectories</caption><thead><tr><th scope="col">trajectory</th><th scope="col">outcome</th>
<th scope="col">method</th><th scope="col" class="far">by</th><th scope="col">goal</th><th scope="col" class="number far">turns</th>
</tr></thead><tbody></tbody></table>
<p><button type="button" id="more" hidden>Show more</button></p>
<dialog id="view" aria-labelledby="view-title"><div id="view-head"><h2 id="view-title" tabindex="-1"></h2><span id="view-tools"></span>
<button type="button" id="close" aria-label="Close (Escape)">×</button></div><div id="view-body"></div></dialog>
"""


SECTION = Section("Trajectories", render)
