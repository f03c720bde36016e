"""The memo of a run, however the model that wrote it set its headings."""

import pytest

from synth.importers.streams.memos import memo_of

HEADINGS = {
    "as asked": "## {}",
    "numbered": "### {n}. {}",
    "with a colon": "## {}:",
    "in bold": "**{}**",
    "bold within a heading": "# **{}**",
}


@pytest.mark.parametrize("heading", HEADINGS.values(), ids=HEADINGS.keys())
def test_sections_are_known_by_their_words(heading: str) -> None:
    named = ("Attempts Log", "Commands From Last Attempt", "Verified Facts", "Next Strategy")
    held = ("- one\n- two", "```bash\nls é\n```", "**Important:** x is 3\n- y", "Look first.")
    text = "\n".join(
        heading.format(name, n=at) + f"\n{body}"
        for at, (name, body) in enumerate(zip(named, held, strict=True), 1)
    )
    memo = memo_of(text)
    assert memo is not None
    assert (memo.attempts_log, memo.commands) == (("one", "two"), ("ls é",))
    assert memo.next_strategy == "Look first."
    assert memo.verified_facts[-1] == "y"


def test_a_text_without_a_section_that_is_known_is_no_memo() -> None:
    assert memo_of("**Notes**\nx\n## Other\ny") is None
