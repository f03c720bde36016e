"""What engine transformers refuses, and what it says of it."""

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from synth.models.local.transformers_chat import open_model as open_engine
from synth.models.registry import open_model
from synth.models.settings import ModelSettings
from synth.schemas.errors import ConfigError
from synth.schemas.model import ModelError, Sampling
from tests.synth.models.small_models import (
    asked,
    sliding_window_model,
)


def test_a_prompt_that_leaves_no_room_for_the_reply_is_a_full_context(random_model: Path) -> None:
    with pytest.raises(ModelError, match="exceed its context of 32768") as full:
        asked(random_model, sampling=Sampling(max_tokens=32_768))
    assert full.value.context_overflow


def test_weights_are_told_apart_by_their_content(
    random_model: Path, altered: Callable[..., Path]
) -> None:
    same = altered(generation={"top_k": 1})
    assert asked(same).weights_id == asked(random_model).weights_id
    (same / "model.safetensors").unlink()
    sliding_window_model().save_pretrained(same)
    assert asked(same).weights_id != asked(random_model).weights_id


def test_weights_that_are_broken_are_told_in_one_line(altered: Callable[..., Path]) -> None:
    folder = altered()
    (folder / "model.safetensors").write_bytes(b"broken")
    with pytest.raises(ConfigError, match="transformers cannot load it") as broken:
        asked(folder)
    assert "\n" not in str(broken.value)


def test_a_chat_that_the_template_refuses_is_a_models_error(altered: Callable[..., Path]) -> None:
    folder = altered(template="{{ raise_exception('roles must alternate') }}")
    with pytest.raises(ModelError, match="roles must alternate"):
        asked(folder)


@pytest.mark.parametrize(
    ("more", "why"),
    [
        (
            {"base_url": "http://127.0.0.1:1/v1"},
            "base_url: engine transformers runs the model in this process",
        ),
        (
            {"extra_body": {"logit_bias": {}}},
            "knows no logit_bias; allowed: chat_template_kwargs, min_p",
        ),
        ({"model": "./nowhere"}, "nowhere is no folder with a config.json"),
    ],
)
def test_what_the_engine_cannot_use_is_the_users_to_mend(
    random_model: Path, more: dict[str, Any], why: str
) -> None:
    with pytest.raises(ConfigError, match=why):
        open_engine(
            ModelSettings(**({"engine": "transformers", "model": str(random_model)} | more))
        )


def test_a_model_without_a_key_value_cache_is_refused(altered: Callable[..., Path]) -> None:
    from transformers import MambaConfig, MambaForCausalLM

    sizes = {"vocab_size": 1024, "hidden_size": 16, "num_hidden_layers": 1, "state_size": 4}
    with pytest.raises(ModelError, match="serve it with vLLM"):
        asked(altered(weights=MambaForCausalLM(MambaConfig(**sizes))))


@pytest.mark.skipif(find_spec("torch") is not None, reason="torch is installed")
def test_a_missing_extra_is_named_with_the_command_that_installs_it() -> None:
    with pytest.raises(ConfigError, match=r"pip install -c constraints.txt -e '\.\[score\]'"):
        open_model(ModelSettings(engine="transformers", model="Qwen/Qwen3-0.6B"))
