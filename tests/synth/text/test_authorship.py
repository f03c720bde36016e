"""Style as a give-away: the classifier finds what was planted, finds nothing in noise, and does not
count argument values.
"""

import json
import random

import numpy as np
import pytest

from synth.schemas.trajectory import ToolCall, Turn
from synth.stats.logistic import fitted
from synth.stats.ranks import auc
from synth.text.authorship import StyledPair, style, styled

WORDS = ["please", "the", "order", "will", "now", "check", "look", "into", "find", "return", "item"]


def said(text: str, thought: str | None = None, **arguments: str) -> Turn:
    call = ToolCall.received("c", "note", json.dumps({"to": arguments.get("to", "desk")}))
    return Turn(index=0, content=text, thought=thought, tool_calls=(call,))


def noise(rng: random.Random) -> str:
    return " ".join(rng.choices(WORDS, k=8))


def pairs(count: int, chosen: str = "", rejected: str = "", tasks: int = 20) -> list[StyledPair]:
    rng = random.Random(5)
    return [
        StyledPair(
            f"task {n % tasks}",
            styled(said(f"{noise(rng)} {chosen}")),
            styled(said(f"{noise(rng)} {rejected}")),
        )
        for n in range(count)
    ]


@pytest.mark.slow
def test_a_word_that_only_one_side_uses_is_found_and_named() -> None:
    found = style(pairs(100, chosen="certainly", rejected="hm"), 0.65)
    assert found.confounded
    assert found.auc is not None
    assert found.auc > 0.99
    assert {"chosen: certainly", "rejected: hm"} <= set(found.features)


@pytest.mark.slow
def test_noise_is_no_style() -> None:
    found = style(pairs(200), 0.65)
    assert found.auc is not None
    assert 0.35 < found.auc < 0.65
    assert found.confounded is False


@pytest.mark.slow
def test_argument_values_are_no_style_and_their_words_in_the_text_neither() -> None:
    rng = random.Random(2)
    found = style(
        [
            StyledPair(
                f"t{n % 9}",
                styled(said(f"{noise(rng)} kitchen", to="kitchen")),
                styled(said(f"{noise(rng)} cellar", to="cellar")),
            )
            for n in range(120)
        ],
        0.65,
    )
    assert found.auc_with_values == pytest.approx(1.0, abs=0.01)
    assert found.auc is not None
    assert found.auc < 0.65


def test_a_thought_on_one_side_is_found() -> None:
    rng = random.Random(3)
    found = style(
        [
            StyledPair(
                f"t{n % 9}", styled(said(noise(rng))), styled(said(noise(rng), thought=noise(rng)))
            )
            for n in range(60)
        ],
        0.65,
    )
    assert found.confounded


def test_few_pairs_or_tasks_say_nothing() -> None:
    assert style(pairs(39, chosen="certainly"), 0.65).confounded is None
    assert style(pairs(60, chosen="certainly", tasks=4), 0.65).confounded is None


def test_the_regression_finds_the_minimum_of_its_loss() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(300, 3))
    labels = (rows @ np.array([2.0, -1.0, 0.0]) + rng.logistic(size=300) > 0).astype(float)
    design = np.hstack([rows, np.ones((300, 1))])
    weights = fitted(design, labels, np.array([3.0, 3.0, 3.0, 0.0]))
    slope = design.T @ (1 / (1 + np.exp(-design @ weights)) - labels) / 300 + 1e-2 * np.append(
        weights[:-1], 0
    )
    assert np.abs(slope).max() < 1e-6
    assert auc((design @ weights)[labels == 1], (design @ weights)[labels == 0]) > 0.8


def test_auc_of_ties_is_a_half() -> None:
    assert auc([1.0, 1.0], [1.0, 1.0]) == 0.5
    assert auc([3.0, 2.0], [2.0, 1.0]) == 0.875  # 3>2, 3>1, 2=2, 2>1
