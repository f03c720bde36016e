"""Texts that strangers put where people look, by what they are aimed at; and more of them,
drawn.
"""

from hypothesis import strategies as some

TERMINAL = [
    "\x1b[31mred\x1b[0m", "\x1b[2J\x1b[H", "\x1b]0;title\x07", "\x1b]8;;http://evil.example\x07here\x1b]8;;\x07", "\x1b]52;c;cm0gLXJm\x07",
    "\x1bP+q544e\x1b\\", "\x1b[8;1;1t", "\x1bc", "\x9b2J", "\x9d0;title\x9c", "\x90q\x9c", "ok\rroot# ", "a\x08\x08b", "\x7f", "\x00nul",
    "\x0b\x0c", "\x1b%G", "\x85next", "[red]red[/red]", "[link=http://evil.example]x[/link]", "[/]", "\\[bold]b", "[@click=app.bell]x[/]",
    "safe\u202egnp.exe", "\u2066a\u2069", "\u200fb\u200e", "a\u200bb", "a\u200db", "a\ufeffb", "\u2060",
    "tag\U000e0041\U000e0042\U000e007f",
    "line\u2028sep", "para\u2029sep", "half \ud800", "half \udfff", "f\ufe00\U000e0101\U000e0102", "\u3164", "\u00ad", "z" + "\u0336" * 40,
]  # fmt: skip
HTML = [
    "<script>alert(1)</script>", "</script><script>alert(1)</script>", "<img src=x onerror=alert(1)>", '"><svg onload=alert(1)>',
    "' onmouseover='alert(1)", "<form action=http://evil.example><input name=p></form>", "<!--", "-->", "]]>", "<![CDATA[x]]>",
    "</style><style>*{display:none}", "<a href=javascript:alert(1)>x</a>", "&lt;b&gt;", "&#60;b&#62;", "<details open ontoggle=alert(1)>",
    "</title></svg><script>1</script>", "<base href=http://evil.example>", "<meta http-equiv=refresh content=0>", "{{7*7}}", "${7*7}",
    "</textarea></pre>", "<b", "<?php 1 ?>", "<iframe srcdoc='x'>",
]  # fmt: skip
MARKDOWN = [
    "![](http://evil.example/x.png)", "[x](javascript:alert(1))", "[x][y]\n\n[y]: http://evil.example", "<http://evil.example>",
    "http://evil.example/a|b", "www.evil.example", "me@evil.example", "mailto:me@evil.example", "| a | b |\n|---|---|", "a | b", "a \\| b",
    "\\", "a\\", "`code`", "``a`b``", "`", "```\n</pre>\n```", "~~~\nx\n~~~", "# heading", "x\n# heading", "x\n===", "x\n---\n", "> quote",
    "- item", "1. item", "2) item", "    indented", "\tindented", "*em* _em_ **strong** __strong__", "~~gone~~", "[^1]",
    "[^1]: note", "$$x$$",
    "- [ ] task", "***", "* * *", "a  \nb", "![x]", "!`x`", "[`x`](http://evil.example)", "`http://evil.example`http://evil.example",
    "<br/>", "line\r\nline", "# closed #", "@everyone", ":smile:", "{{< x >}}", "{% x %}",
]  # fmt: skip
YAML = [
    "x\n---\nlicense: mit", "a: b", "a #b", "'", '"', '"\n', "!!python/object/apply:os.system [ls]", "&a", "*a", "%YAML 1.1", "@x", "- a",
    "{a: b}", "[a", "1:30", "0o17", "017", "1_000", "yes", "no", "on", "~", "null", "true", "1e3", ".inf", "2026-01-01", "=", "<<", "",
    " lead", "trail ", "|", ">-", "? x", "0x1F", "0b1", "-", "---", "...", "\ttab", "\u2028", "\x85", "Ünï", "日本",
]  # fmt: skip
PATHS = [
    "../../etc/passwd",
    "/etc/passwd",
    "..",
    ".",
    "a/b",
    "a\\b",
    "con",
    "-rf",
    "~/x",
    "x" * 300,
    "a\x00b",
    "a\nb",
    "$(id)",
    ".hidden",
]

PAYLOADS = [*TERMINAL, *HTML, *MARKDOWN, *YAML, *PATHS]

_PIECES = some.sampled_from([one for one in PAYLOADS if one and len(one) < 60]) | some.text(
    some.characters(), max_size=8
)
DRAWN = some.lists(_PIECES, min_size=1, max_size=4).map("".join)
"""Payloads beside each other, and beside any text."""
