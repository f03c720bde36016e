"""Foreign text as people may be shown it: one function for each place that reads more in a text
than its letters.

Terminals act on control characters, browsers on tags, Markdown on brackets, YAML on line ends, file
systems on dots and slashes. Nothing
outside of this module escapes for any of them.
"""

import re
import textwrap
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any
from unicodedata import combining

from synth.schemas.canonical import content_hash, valid_text

SPACING = "\n\t\u00a0\u202f\u3000"
"""White space that texts of any script may hold."""
_JOINERS = "\u200c\u200d"
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u3164\ufe00-\ufe0d\uffa0"
    "\U000e0100-\U000e01ef]"
)
"""Unicode calls these printable and draws nothing: texts are hidden in them (variation selectors,
fillers).
"""
_MOST_MARKS = 4
"""On one letter; a pile of them covers the lines above and below."""
_ODD = re.compile(r"[^ -~]")
_NOT_ASCII = re.compile(r"[^ -~\n]")

_CODE = re.compile(r"(?<!`)`([^`\\|]+)`(?!`)")
_LINK = re.compile(
    r"://|\bwww\.|\b(?:mailto|xmpp|tel|javascript|vbscript|data):|\S@\S+\.\S", re.IGNORECASE
)
"""What renderers make links of without being asked to."""
_MARKS = re.compile(r"[\\`*\[\]~|<]|(?<![^\W_])_|_(?![^\W_])|&(?=#?\w+;)|\$(?!\d)")
_OPENING = re.compile(r"(?=[#>=]|[-+](?:\s|$)|--)|(?<=\d)(?=[.)](?:\s|$))")
_ENTITIES = {"<": "&lt;", "&": "&amp;"}

_OTHERWISE_READ = re.compile(
    r"[-+]?(?:0o[0-7_]+|0b[01_]+|[\d_.]+(?:e[-+]?\d+)?)|[ynYN]|<<|=", re.IGNORECASE
)
"""Plain scalars that some version of YAML takes for no text."""
_LONGEST_NAME = 100


class Marked(str):
    """Markdown of our own, in which data has been escaped already."""

    __slots__ = ()


def printable(text: str, keep: str = "") -> str:
    """Text for a terminal: what is not seen by its escape, so that several lines become one;
    characters in `keep` stay.

    Nothing in it moves the cursor, sets a title, turns the direction of writing or hides. What
    joins letters stays between letters of
    scripts that need it. Lone surrogates become U+FFFD.
    """
    if text.isascii() and text.isprintable():
        return text
    return _ODD.sub(
        lambda found: found[0] if found[0] in keep or _is_seen(found) else _escaped(found[0]),
        valid_text(text),
    )


def _is_seen(found: re.Match[str]) -> bool:
    """Whether a character outside of printable ASCII shows where it stands."""
    sign, text, at = found[0], found.string, found.start()
    if sign in _JOINERS:
        around = text[max(0, at - 1) : at] + text[at + 1 : at + 2]
        return (
            len(around) == 2
            and not around.isascii()
            and all(not each.isascii() and each.isprintable() for each in around)
        )
    if not sign.isprintable() or _UNSEEN.match(sign):
        return False
    return not (
        combining(sign) and at >= _MOST_MARKS and all(map(combining, text[at - _MOST_MARKS : at]))
    )


def _escaped(sign: str) -> str:
    return sign.encode("unicode_escape").decode()


def between_words(line: str, width: int) -> str:
    """The line in as many as a terminal of `width` needs; a path that is longer than that stays in
    one piece.
    """
    lines = textwrap.wrap(line, width, break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines) or line


def ascii_json(text: str | bytes) -> str:
    r"""JSON with every character beyond ASCII as \uXXXX: the same values, and nothing that a
    terminal acts on.
    """
    whole = text.decode() if isinstance(text, bytes) else text
    return _NOT_ASCII.sub(lambda found: utf16_escapes(found[0]), whole)


def utf16_escapes(text: str) -> str:
    r"""A text as \uXXXX, in UTF-16 units: within JSON it means the same."""
    units = text.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


def in_html(text: str) -> str:
    """Text for HTML and SVG, between tags and in quoted attributes."""
    return escape(printable(text, keep="\n"))


def in_cell(text: str) -> Marked:
    """Text for a cell of a Markdown table, or for the middle of a line: no markup but `code`, no
    link, no picture, no HTML.

    Single backticks go on quoting code, in which nothing is live; an address is shown as code,
    since renderers link it by themselves.
    """
    if isinstance(text, Marked):
        return text
    written = ""
    for piece, is_code in _pieces(" ".join(printable(text, keep=SPACING).split())):
        space = " " if is_code and written.endswith("`") else ""
        written += f"{space}`{piece}`" if is_code else _MARKS.sub(_unmarked, piece)
    return Marked(written)


def _pieces(text: str) -> Iterator[tuple[str, bool]]:
    """(piece, whether it is code), in order."""
    at = 0
    for found in _CODE.finditer(text):
        yield from _words(text[at : found.start()])
        yield found[1], True
        at = found.end()
    yield from _words(text[at:])


def _words(text: str) -> Iterator[tuple[str, bool]]:
    """Addresses as code, without the signs that no code in a table can hold."""
    for word in re.split(r"(\s+)", text):
        if not _LINK.search(word):
            yield word, False
            continue
        for part in filter(None, re.split(r"([`\\|])", word)):
            yield part, part not in "`\\|"


def _unmarked(found: re.Match[str]) -> str:
    return _ENTITIES.get(found[0]) or f"\\{found[0]}"


def in_markdown(text: str) -> Marked:
    """Text for a line of its own, a list's entry or a heading: as `in_cell`, and it opens no
    block.
    """
    if isinstance(text, Marked):
        return text
    line = in_cell(text)
    opening = _OPENING.match(line) or re.match(r"\d{1,9}(?=[.)](?:\s|$))", line)
    line = (
        Marked(f"{line[: opening.end()]}\\{line[opening.end() :]}") if opening is not None else line
    )
    return Marked(re.sub(r"(?<=\s)(#+)$", r"\\\1", line))


def in_code(text: str) -> Marked:
    """A name as Markdown sets code; what code cannot hold in a table is set as text."""
    shown = " ".join(printable(text, keep=SPACING).split())
    return in_markdown(shown) if not shown or set(shown) & set("`\\|") else Marked(f"`{shown}`")


def front_matter(content: Mapping[str, Any]) -> str:
    """The YAML block before a card, read back as the same values by readers of YAML 1.1 and of
    1.2.
    """
    import yaml

    class Dumper(yaml.SafeDumper):
        """Quotes what another version of YAML would not take for text."""

    def text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
        style = (
            "'" if _OTHERWISE_READ.fullmatch(value) else None if value == printable(value) else '"'
        )
        return dumper.represent_scalar("tag:yaml.org,2002:str", valid_text(value), style=style)

    Dumper.add_representer(str, text)
    Dumper.add_multi_representer(str, text)

    def dumped(*, unicode: bool) -> str:
        return str(yaml.dump(dict(content), Dumper=Dumper, sort_keys=False, allow_unicode=unicode))

    written = dumped(unicode=True)
    return (
        f"---\n{written if written == printable(written, SPACING) else dumped(unicode=False)}---\n"
    )


def in_file_name(text: str) -> str:
    """A name as one part of a path: letters, digits, `.`, `_`, `-`; what had to be changed or cut
    is told apart by a digest.
    """
    clean = re.sub(r"[^A-Za-z0-9._-]", "_", text).lstrip(".-")[:_LONGEST_NAME]
    return (
        clean
        if clean == text and clean
        else f"{clean}-{content_hash(text.encode('utf-8', 'surrogatepass'), size=6)}"
    )
