"""Standard streams that no closed pipe, full disk or old encoding can turn into a lost run."""

import codecs
import io
import os
import re
import sys
from typing import Any

from synth.schemas import SPACING, printable, utf16_escapes


class _Noting(io.FileIO):
    """Remembers what kept it from writing."""

    problem: OSError | None = None

    def write(self, data: Any) -> int:
        """As the parent; once it has failed it takes everything and writes nothing."""
        if self.problem is not None:
            return len(data)
        try:
            return super().write(data) or 0
        except OSError as error:
            self.problem = error
            raise


class _Lossy(_Noting):
    """Drops what cannot be written: work does not end because a log is full."""

    def write(self, data: Any) -> int:
        """As the parent; what the stream does not take is gone."""
        try:
            return super().write(data)
        except OSError:
            self.problem = None  # there may be room again for the next line
            return len(data)


class _Written(io.TextIOWrapper):
    """The last net under `synth.schemas.printable`: what a terminal would act on is written as its
    escape, but for styles of our own.
    """

    def write(self, text: str) -> int:
        """As the parent."""
        styled = self.isatty() or bool(os.environ.get("FORCE_COLOR"))
        keep = SPACING + "\r" if styled else SPACING
        parts = _STYLE.split(text) if styled else [text]
        super().write(
            "".join(part if at % 2 else printable(part, keep) for at, part in enumerate(parts))
        )
        return len(text)


_STYLE = re.compile(r"(\x1b\[[0-9;?]*[A-Za-z])")
"""Colours, and the movements of a progress bar."""


def mend() -> None:
    """Opens standard streams that were closed, so that no file of a run gets their number;
    characters that cannot be said are escaped.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free: this one
    sys.stdout = _text(
        _Noting(1, "w", closefd=False), getattr(sys.stdout, "encoding", "utf-8"), lines=os.isatty(1)
    )
    sys.stderr = _text(
        _Lossy(2, "w", closefd=False), getattr(sys.stderr, "encoding", "utf-8"), lines=True
    )


def stdout_problem() -> OSError | None:
    """What kept stdout from taking what was said, if anything; it is silent from then on."""
    raw = sys.stdout.buffer.raw if isinstance(sys.stdout.buffer, io.BufferedWriter) else None
    return raw.problem if isinstance(raw, _Noting) else None


def _text(raw: io.FileIO, encoding: str, *, lines: bool) -> io.TextIOWrapper:
    codecs.register_error(_ESCAPED, _escaped)
    return _Written(
        io.BufferedWriter(raw), encoding=encoding, errors=_ESCAPED, line_buffering=lines
    )


_ESCAPED = "synth.escaped"


def _escaped(error: UnicodeError) -> tuple[str, int]:
    """What an encoding cannot say, by its escapes: JSON stays JSON, with the same meaning."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return utf16_escapes(error.object[error.start : error.end]), error.end
