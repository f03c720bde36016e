"""The part of a stream of JSON values that is being read."""

import codecs
import io
import re

from synth.importers.files.json_value import NEVER_WHOLE, record_at
from synth.importers.records import Record, Rejection

_MARKS = re.compile(r'["{}\[\]]|\\.', re.DOTALL)
SPACE = " \t\r\n"
DECODER = codecs.getincrementaldecoder("utf-8")
CHUNK = 1 << 20
"""Bytes that are read at once, and of the head by which the forms of a file are told apart."""


def _open_escape(text: str) -> bool:
    """Whether a text ends in a backslash that escapes what follows."""
    return (len(text) - len(text.rstrip("\\"))) % 2 == 1


class JsonWindow:
    """The text of a stream from the element under way on, which begins `at` a place in it."""

    def __init__(self, stream: io.BufferedReader) -> None:
        self._stream, self._decoder = stream, DECODER("surrogateescape")
        self._ended = False
        self.text, self.at = "", 0
        self.dropped = 0

    def sign(self, skip: int = 0) -> str:
        """Goes on to the next character that is no white space; none at the end of the text."""
        self.at += skip

        while (sign := self.text[self.at : self.at + 1]) in SPACE and (sign or not self._ended):
            if sign:
                self.at += 1
            else:
                self._more()

        return sign

    def element(self, record: Record, limit: int) -> tuple[Record | Rejection, int | None]:
        """The element that begins here, with its end; the stream is read on until it is whole."""
        while True:
            found, end = record_at(self.text, self.at, record)
            # what ends with the text may go on after it, as a number does
            is_whole = end is not None and end < len(self.text)
            hopeless = isinstance(found, Rejection) and found.reason in NEVER_WHOLE
            if self._ended or is_whole or hopeless:
                return found, end

            if len(self.text) - self.at > limit:
                return record.rejected("record_too_large", f"more than {limit} bytes"), None

            self._more()

    def pass_object(self) -> bool:
        """Goes on behind the object that begins here, in chunks; false where the text ends first.
        Brackets and braces are counted, those in texts aside.
        """
        depth, in_text = 0, False
        while True:
            for mark in _MARKS.finditer(self.text, self.at):
                if mark[0] == '"':
                    in_text = not in_text
                elif not in_text and len(mark[0]) == 1:
                    depth += 1 if mark[0] in "{[" else -1
                if depth == 0 and not in_text:
                    self.at = mark.end()
                    return True
            if self._ended:
                return False
            # a backslash at the very end escapes what the next chunk begins with
            self.at = len(self.text) - (in_text and _open_escape(self.text[self.at :]))
            self._more()

    def _more(self) -> None:
        """Forgets what stands before the element, and takes in at least as much text as is left:
        long values are tried a few times only.
        """
        self.dropped += self.at
        self.text, self.at = self.text[self.at :], 0
        chunk = self._stream.read(max(CHUNK, len(self.text)))
        self._ended = not chunk
        self.text += self._decoder.decode(chunk, final=self._ended)
