"""The part of a stream of JSON values that is being read."""

import codecs
import io

from synth.importers.files.json_value import NEVER_WHOLE, record_at
from synth.importers.records import Record, Rejection

SPACE = " \t\r\n"
DECODER = codecs.getincrementaldecoder("utf-8")
CHUNK = 1 << 20
"""Bytes that are read at once, and of the head by which the forms of a file are told apart."""


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

    def _more(self) -> None:
        """Forgets what stands before the element, and takes in at least as much text as is left:
        long values are tried a few times only.
        """
        self.dropped += self.at
        self.text, self.at = self.text[self.at :], 0
        chunk = self._stream.read(max(CHUNK, len(self.text)))
        self._ended = not chunk
        self.text += self._decoder.decode(chunk, final=self._ended)
