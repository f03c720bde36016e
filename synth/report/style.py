"""How the project's pages look: light and dark by the reader's own setting or a page's own switch,
readable on paper.
"""

from synth.report.templates import rendered


def page_style() -> str:
    """Of every page."""
    return rendered("page.css")


def graph_style() -> str:
    """Of the pictures of graphs, beside that of the page they are on."""
    return rendered("graph.css")
