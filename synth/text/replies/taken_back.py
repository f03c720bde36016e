"""Whether a reply takes back what it has just answered: "Wait, step 2 it is", "更正："
(`data/replies/taken_back.yaml`).
"""

import re
from collections.abc import Sequence
from functools import cache

import msgspec

from synth.text.data_files import read


class CorrectionWords(msgspec.Struct, frozen=True):
    """`begins`: what a correction begins with, at the beginning of a sentence; `anywhere`: words
    that correct wherever they stand. Both are regular expressions.
    """

    begins: Sequence[str]
    anywhere: Sequence[str]


def takes_back(behind: str, *, paragraphs: bool = False) -> bool:
    """Whether what stands behind an answer corrects it; `paragraphs`: at the beginning of one,
    since all else may belong to the answer.
    """
    begins, anywhere = _patterns()
    if paragraphs:
        return any(begins.match(part) for part in behind.split("\n"))
    return begins.search(behind) is not None or anywhere.search(behind) is not None


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    words = read("data/replies/taken_back.yaml", CorrectionWords)
    start = r"(?:^|[.!?;:。！？：\n)\]}])[\s\"'*_>#\-–—`(（]*"
    begins = re.compile(f"{start}(?:{'|'.join(words.begins)})", re.IGNORECASE)
    return begins, re.compile("|".join(words.anywhere), re.IGNORECASE)
