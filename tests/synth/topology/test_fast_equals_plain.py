"""What was made fast gives what the plain definition gives: masking, ways back, advantages over
groups.
"""

import re
from functools import partial
from statistics import mean, stdev

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synth.topology.nondeterminism.masking import DEFAULTS, Masking, Nondeterminism
from synth.topology.step_credit import EPSILON, Path, gigpo, graphgpo
from synth.topology.waste import regressions

GENERATED = {"ticket": r"TK-\d+", "after": r"(?<=no )N\w+"}
MASKED = {**DEFAULTS, "ends": r"end$"}
spans = st.sampled_from(
    [
        "2024-05-15T10:00:00Z",
        "2024-05-15",
        "0xdeadbeef",
        "12 ms",
        "3.5 s",
        "35 s",
        "pid 77",
        "/tmp/x_1",
        "TK-7",
        "TK-8",
        "no N9",
        "end",
        "a" * 16 + "0" * 16,
        "9 µs",
        "1b4e28ba-2fa1-11d2-883f-0016d3cca427",
        "order #W12",
        "é",
        "٣ ms",
        "  ",
        "\n",
        "-",
        "x",
        "0",
    ]
)


def plainly(texts: list[str]) -> list[str]:
    """Pattern by pattern, whether or not any occurs."""
    numbers: dict[tuple[str, str], int] = {}

    def numbered(name: str, match: re.Match[str]) -> str:
        known = numbers.setdefault(
            (name, match.group()), sum(key[0] == name for key in numbers) + 1
        )
        return f"<{name} {known}>"

    found = []
    for text in texts:
        for name, pattern in MASKED.items():
            text = re.sub(pattern, f"<{name}>", text)
        for name, pattern in GENERATED.items():
            text = re.sub(pattern, partial(numbered, name), text)
        found.append(" ".join(text.split()))
    return found


@given(st.lists(st.lists(spans, max_size=5).map("".join), max_size=3))
@settings(max_examples=60)
def test_masking_gives_what_every_pattern_in_turn_gives(texts: list[str]) -> None:
    masking = Masking(Nondeterminism(MASKED, GENERATED))
    assert [masking.text(text) for text in texts] == plainly(texts)


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=12))
@settings(max_examples=60)
def test_turns_of_a_way_back_are_those_between_two_looks_at_a_state(states: list[str]) -> None:
    expected = set()
    for end, state in enumerate(states):
        before = [at for at in range(end) if states[at] == state]
        if before and set(states[before[-1] : end]) != {state}:
            expected |= {at for at in range(before[-1], end) if states[at + 1] != states[at]}
    assert regressions(states) == expected


paths = st.lists(
    st.tuples(
        st.lists(st.sampled_from("abc"), min_size=2, max_size=6), st.booleans(), st.integers(0, 2)
    ).map(
        lambda drawn: Path(
            tuple(drawn[0]),
            ("x",) * (len(drawn[0]) - 1),
            (*(0.0 for _ in drawn[0][2:]), float(drawn[1])),
            drawn[1],
            drawn[2],
        )
    ),
    min_size=1,
    max_size=4,
)


@given(paths)
@settings(max_examples=40)
def test_the_advantage_of_a_step_is_over_the_steps_from_its_state(trials: list[Path]) -> None:
    gains = [
        [0.95 ** (len(path.actions) - 1 - at) * path.rewards[-1] for at in range(len(path.actions))]
        for path in trials
    ]
    for norm in ("mean", "mean_std"):
        for number, credit in enumerate(gigpo(trials, norm=norm)):
            for at, state in enumerate(trials[number].states[:-1]):
                group = [
                    gains[i][j]
                    for i, path in enumerate(trials)
                    for j, other in enumerate(path.states[:-1])
                    if other == state
                ]
                gap = gains[number][at] - mean(group) if len(group) > 1 else 0.0
                expected = (
                    gap / (stdev(group) + EPSILON) if norm == "mean_std" and len(group) > 1 else gap
                )
                assert credit.steps[at] == pytest.approx(expected, abs=1e-6)
                assert credit.groups[at] == len(group)


@given(paths)
@settings(max_examples=40)
def test_both_conventions_of_graphgpo_agree_where_the_deviation_is_large(
    trials: list[Path],
) -> None:
    for ours, theirs in zip(graphgpo(trials), graphgpo(trials, convention="paper"), strict=True):
        assert ours.episode == theirs.episode
        assert ours.steps == pytest.approx(theirs.steps, abs=0.3)
        assert [step > 0 for step in ours.steps] == [step > 0 for step in theirs.steps]
