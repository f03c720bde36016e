"""Lines for a terminal, broken where words end."""

import textwrap


def between_words(line: str, width: int) -> str:
    """The line in as many as a terminal of `width` needs; a path that is longer than that stays in
    one piece.
    """
    return (
        "\n".join(textwrap.wrap(line, width, break_long_words=False, break_on_hyphens=False))
        or line
    )
