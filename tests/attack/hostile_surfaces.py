"""Runs full of texts that a terminal or a page would act on."""

import re
import unicodedata
from collections import Counter

from synth.schemas.canonical import valid_text
from tests.attack.payloads import PAYLOADS
from tests.attack.test_texts_escaped import UNSEEN

TEXTS = [valid_text(text) for text in PAYLOADS if text and "\x00" not in text]


def assert_is_text(said: str, *, styled: bool = False) -> None:
    """Nothing in it that a terminal acts on, but for styles of our own."""
    said = re.sub(r"\x1b\[[0-9;]*m", "", said) if styled else said
    assert (
        Counter(
            sign for sign in said if unicodedata.category(sign) in UNSEEN and sign not in "\n\t"
        )
        == {}
    )
