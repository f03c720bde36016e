"""Readers of labels need nothing but a ledger."""

import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from synth.ledger import StoredLedger
from synth.pairs import kto_labels, paired_steps, preference_pairs, step_labels


@pytest.mark.parametrize("read", [preference_pairs, kto_labels, step_labels, paired_steps])
def test_labels_are_read_with_a_ledger_alone(read: Callable[..., Iterator[Any]]) -> None:
    assert list(read(StoredLedger(f"memory://{uuid.uuid4().hex}", create=True))) == []
