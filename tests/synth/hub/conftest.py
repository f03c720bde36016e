"""The local Hub, reached as the public one is."""

from collections.abc import Iterator

import pytest
from huggingface_hub import constants

from tests.synth.hub.hub_server import Hub


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A fresh one; huggingface_hub reads its switches when it is imported, which another test may
    have done.
    """
    found = Hub()
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    yield found
    found.close()
