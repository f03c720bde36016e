"""One module makes foreign text fit to be shown: each function against real readers of what it
writes for.
"""

import json
import re
import unicodedata
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest
import yaml
from hypothesis import given, settings
from markdown_it import MarkdownIt

from synth.schemas.canonical import valid_text
from synth.schemas.text.printing import (
    SPACING,
    ascii_json,
    front_matter,
    in_cell,
    in_code,
    in_file_name,
    in_html,
    in_markdown,
    printable,
)
from synth.schemas.text.yaml_text import read_yaml
from tests.attack.payloads import DRAWN, PAYLOADS

MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
LIVE = {
    "link_open",
    "image",
    "html_inline",
    "html_block",
    "em_open",
    "strong_open",
    "s_open",
    "heading_open",
    "hr",
    "fence",
    "code_block",
    "bullet_list_open",
    "ordered_list_open",
    "blockquote_open",
    "softbreak",
    "hardbreak",
}
UNSEEN = {"Cc", "Cf", "Zl", "Zp", "Cs", "Co", "Cn"}


def squeezed(text: str) -> str:
    return re.sub(r"[\s`\ufffd]", "", text)


def shown(text: str, keep: str = SPACING) -> str:
    return squeezed(printable(text, keep))


def hidden(text: str, keep: str = "\n\t") -> list[str]:
    return [sign for sign in text if unicodedata.category(sign) in UNSEEN and sign not in keep]


def check_terminal(text: str) -> None:
    assert hidden(printable(text), "") == []
    assert hidden(printable(text, SPACING)) == []
    assert "\r" not in printable(text, SPACING)


def check_json(text: str) -> None:
    written = ascii_json(json.dumps({text: [text]}, ensure_ascii=False))
    assert written.isascii()
    assert written.isprintable()
    assert json.loads(written) == {text: [text]}


class Seen(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.said = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.said += data

    def handle_comment(self, data: str) -> None:
        self.tags.append(("comment", {}))

    def handle_decl(self, decl: str) -> None:
        self.tags.append(("declaration", {}))

    def handle_pi(self, data: str) -> None:
        self.tags.append(("instruction", {}))


def check_html(text: str) -> None:
    seen = Seen()
    seen.feed(f"<p title=\"{in_html(text)}\" lang='{in_html(text)}'>{in_html(text)}</p><i>")
    seen.close()
    assert [tag for tag, _ in seen.tags] == ["p", "i"]
    assert seen.tags[0][1] == {"title": printable(text, "\n"), "lang": printable(text, "\n")}
    assert seen.said == printable(text, "\n")
    assert ElementTree.fromstring(f"<svg><title>{in_html(text)}</title></svg>")[0].text == (
        printable(text, "\n") or None
    )


def read(markdown: str) -> tuple[set[str], str, int]:
    """Types of tokens, what is shown, and how many cells there are."""
    kinds, said, cells = set(), "", 0
    for token in MARKDOWN.parse(markdown):
        kinds.add(token.type)
        cells += token.type == "td_open"
        for child in token.children or ():
            kinds.add(child.type)
            said += child.content
    return kinds, said, cells


def check_markdown(text: str) -> None:
    for line, keep in (
        (in_markdown(text), SPACING),
        (in_code(text), SPACING),
        (in_cell(f"a {text} b"), SPACING),
    ):
        kinds, said, _ = read(f"Before.\n\n{line}\n\nAfter.\n")
        assert not kinds & LIVE
        assert shown(text, keep) in squeezed(said)
    kinds, said, cells = read(
        f"| a | b |\n|---|---|\n| {in_cell(text)} | {in_code(text)} |\n\nAfter.\n"
    )
    assert not kinds & LIVE
    assert cells == 2
    assert squeezed(said).count(shown(text)) >= 2 or not shown(text)
    kinds, said, _ = read(f"- {in_markdown(text)}\n- b\n")
    assert not kinds & (LIVE - {"bullet_list_open"})
    kinds, said, _ = read(f"## {in_markdown(text)}\n\nAfter.\n")
    assert not kinds & (LIVE - {"heading_open"})
    assert shown(text) in squeezed(said)


def check_front_matter(text: str) -> None:
    kept = valid_text(text)
    written = front_matter({"pretty_name": text, "tags": [text, "b"], "license": "mit"})
    assert re.findall(r"^---$", written, re.MULTILINE) == ["---", "---"]
    assert written.startswith("---\n")
    assert written.endswith("\n---\n")
    body = written.removeprefix("---\n").removesuffix("---\n")
    assert yaml.safe_load(body) == {"pretty_name": kept, "tags": [kept, "b"], "license": "mit"}
    assert read_yaml(body, "card") == {"pretty_name": kept, "tags": [kept, "b"], "license": "mit"}
    assert hidden(written) == []


def check_file_name(text: str) -> None:
    name = in_file_name(text)
    assert re.fullmatch(r"[A-Za-z0-9_-][A-Za-z0-9._-]*", name)
    assert len(name) < 130
    assert name == text or name != in_file_name(name + "x")


CHECKS = [
    check_terminal,
    check_json,
    check_html,
    check_markdown,
    check_front_matter,
    check_file_name,
]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_every_payload_is_only_text(check) -> None:  # type: ignore[no-untyped-def]
    for text in PAYLOADS:
        check(text)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_any_text_is_only_text(check) -> None:  # type: ignore[no-untyped-def]
    @settings(max_examples=220)
    @given(DRAWN)
    def drawn(text: str) -> None:
        check(text)

    drawn()


def test_there_are_enough_payloads() -> None:
    assert len(set(PAYLOADS)) >= 150


def test_names_that_only_look_alike_get_paths_of_their_own() -> None:
    names = [in_file_name(text) for text in PAYLOADS]
    assert len(set(names)) == len(set(PAYLOADS))


def test_what_scripts_of_people_need_stays() -> None:
    for text in (
        "Zoë",
        "日本語",
        "می\u200cخواهم",
        "👨\u200d👩\u200d👧",
        "❤\ufe0f",
        "e\u0301",
        "नमस्ते",
    ):
        assert printable(text) == text
