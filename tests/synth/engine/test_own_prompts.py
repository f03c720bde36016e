"""A role may be told in the user's own words; what is filled in stays."""

from pathlib import Path

import pytest

from synth.engine.roles.own_prompts import FILLED, _shipped, own_prompts, prompt, with_own
from synth.flows.roles import role
from synth.schemas.errors import ConfigError


def written(folder: Path, name: str, text: str) -> str:
    path = folder / f"{name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + "\n", encoding="utf-8")
    return str(folder)


def test_every_prompt_that_is_filled_in_has_fields_and_no_other_is_taken_for_one() -> None:
    assert set(_shipped()) >= FILLED
    assert "judge/reward" in _shipped()
    assert prompt("reflector/form").startswith("Answer with one JSON object")


def test_words_of_ones_own_stand_in_the_place_of_ours(tmp_path: Path) -> None:
    own = own_prompts(written(tmp_path, "judge/reward", "Judge {it} kindly."))
    messages = [
        {"role": "system", "content": f"{prompt('judge/reward')}\n\nMore."},
        {"role": "user", "content": "The task: judge."},
    ]
    changed = with_own(messages, own)
    assert [one["content"] for one in changed] == [
        "Judge {it} kindly.\n\nMore.",
        "The task: judge.",
    ]
    assert messages[0]["content"].startswith(prompt("judge/reward")), "the question is not changed"


def test_what_was_filled_in_stays_where_the_users_fields_are(tmp_path: Path) -> None:
    own = own_prompts(written(tmp_path, "injector/text", "{meaning} ({name}, {code})"))
    filled = prompt("injector/text").format(code="FM-1.1", name="Drift", meaning="forgets, twice")
    (changed,) = with_own([{"role": "system", "content": filled}], own)
    assert changed["content"] == "forgets, twice (Drift, FM-1.1)"
    asked = f"A log.\n\n{prompt('judge/steps_form').format(3)}"
    steps = own_prompts(written(tmp_path / "b", "judge/steps_form", "Name {} steps."))
    (changed,) = with_own([{"role": "user", "content": asked}], steps)
    assert changed["content"] == "A log.\n\nName 3 steps."


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("judge/nothing", "x", "there is no prompt judge/nothing; known: "),
        ("injector/text", "{code}", "its fields in braces must be: {code}, {name}, {meaning}"),
    ],
)
def test_what_cannot_take_the_place_of_ours_is_refused(
    tmp_path: Path, name: str, text: str, why: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        own_prompts(written(tmp_path, name, text))
    assert why in str(caught.value)


def test_a_flow_names_the_folder_and_other_words_are_other_work(tmp_path: Path) -> None:
    settings = {"model": "m", "base_url": "http://127.0.0.1:1/v1"}
    plain = role("judge", settings)
    folder = written(tmp_path, "judge/reward", "Judge kindly.")
    own = role("judge", {**settings, "prompts": folder})
    assert own.prompts == {"judge/reward": "Judge kindly."}
    assert plain.policy.sampling != own.policy.sampling
    with pytest.raises(ConfigError, match=r"models\.judge.*holds no file"):
        role("judge", {**settings, "prompts": str(tmp_path / "empty")})
    with pytest.raises(ConfigError, match="comes from its world"):
        role("user", {**settings, "prompts": folder})
