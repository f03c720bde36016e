"""Small models of random weights, for engines that run in this process; without torch their tests
are skipped.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.random_model import build
from tests.synth.models.engines import ask as ask
from tests.synth.models.engines import engine as engine


@pytest.fixture(scope="session")
def random_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Qwen3 of 2 layers with a template that marks what the assistant writes."""
    for package in ("torch", "transformers"):
        pytest.importorskip(
            package,
            reason=f"{package} comes with the extra `score`; `make test-train` tests it in an "
            "environment of its own",
        )
    folder = tmp_path_factory.mktemp("random_model")
    build(folder)
    return folder


@pytest.fixture
def altered(random_model: Path, tmp_path: Path) -> Callable[..., Path]:
    """The random model with another template, another generation config, or other weights."""

    def alter(
        *,
        template: str | None = None,
        generation: dict[str, Any] | None = None,
        weights: Any = None,
    ) -> Path:
        folder = tmp_path / "altered"
        folder.mkdir()
        for file in random_model.iterdir():
            (folder / file.name).write_bytes(file.read_bytes())
        if weights is not None:
            weights.save_pretrained(folder)
        if template is not None:
            (folder / "chat_template.jinja").write_text(template)
        if generation is not None:
            (folder / "generation_config.json").write_text(json.dumps(generation))
        return folder

    return alter
