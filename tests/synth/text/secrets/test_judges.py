"""The table of tests of a value: what it takes for a secret and what it does not."""

import pytest

from synth.text.secrets.judges import judge
from synth.text.secrets.rules import rules


@pytest.mark.parametrize(
    ("name", "taken", "refused"),
    [
        ("six_digits", "408 213", "123456"),
        ("chosen_pin", "7304", "1987"),
        ("nine_digits", "219098765", "000123456"),
        ("community", "n0c-Readers", "PUBLIC"),
        ("wire", "hunter2x9", "PLAIN"),
        ("capitals", "XK4-PQ", "Street"),
        ("url_password", "s3cret-Hill", "443"),
        ("told_password", "Sparrow7!hill.", "server01.example.com"),
        ("told_beside_user", "Sparrow7!hill", "Sparrow7! hill"),
        ("stored_value", "40821", "no"),
        ("link_key", "fbc4a09e1d7763fbc4a09e1d7763fbc4a09e1d77", "getting-started-with-our-tools"),
        ("bare_aws_secret", "kT9zQw3/Lx7bVn5RmY2cJd8HsGf4Pa6Ue1Wo0Ki+", "/usr/lib/python3/dist"),
    ],
)
def test_a_test_takes_what_was_drawn_and_refuses_what_only_stands_there(
    name: str, taken: str, refused: str
) -> None:
    assert judge(name)(taken)
    assert not judge(name)(refused)


def test_what_is_dropped_is_not_judged() -> None:
    assert judge("passed")("Hunter2!x).,")
    assert judge("passed")("Hunter2!x")


def test_every_rule_has_its_test_and_a_name_that_is_none_is_told_with_those_that_are() -> None:
    assert all(rule.test is None or judge(rule.test) for rule in rules())
    with pytest.raises(ValueError, match=r"'wished' is no test of a value; known: address, .*wire"):
        judge("wished")
