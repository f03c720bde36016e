"""What the derived tasks are told to be, below the funnel."""

from synth.synthesizers.reverse.report import in_words


def test_one_of_a_thing_is_told_as_one() -> None:
    found = {
        "signatures": 1,
        "kinds": 1,
        "several_operations": 1,
        "refusals": 0,
        "questions": 1,
        "tasks": 1,
        "T8_undefined": {},
        "mutants": {"killed": 2, "made": 2},
    }
    first, second, _ = in_words(found)
    assert first == "1 operation signature, 1 kind with goals"
    assert second.endswith("1 question")
