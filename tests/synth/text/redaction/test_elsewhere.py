"""One value has one stand-in, wherever it stands and however it was told."""

import time

import msgspec
import pytest

from synth.filters.secrets import SecretsConfig
from synth.schemas import ToolCall
from synth.text.redaction.elsewhere import same
from synth.text.redaction.findings import redacted
from tests.trajectories import make_trajectory

SCAN = SecretsConfig().scan()
FLAG = "flag{d316759c281bf925d600be698a4973d5}"


def stand_ins(*texts: str) -> list[list[str]]:
    """What stands for what was found in texts that follow each other."""
    found = SCAN._numbered([(str(at), text) for at, text in enumerate(texts)])
    return [[one.stand_in for one in found if one.place == str(at)] for at in range(len(texts))]


def test_a_password_is_one_by_any_sentence_and_where_it_is_typed() -> None:
    (one,), (two,), (three,) = stand_ins(
        f"Password: \n{FLAG}\n",
        f"a user named csaw trying to login with password {FLAG} which is our flag",
        f"submit '{FLAG}'\n",
    )
    assert one == two == three == "[REDACTED:credential:1]"


def test_it_is_taken_out_of_what_was_said_before_it_was_told() -> None:
    before, told = stand_ins(f"echo {FLAG} | nc host 1", f"the password is {FLAG}")
    assert before == told
    assert len(before) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("+51 987654321", "+51987654321"),
        ("+49 (30) 1234-5678", "+49 30 12345678"),
        ("4111 1111 1111 1111", "4111-1111-1111-1111"),
    ],
)
def test_a_number_is_one_however_it_is_cut(one: str, other: str) -> None:
    first, second = stand_ins(f"my number is {one}.", f'{{"number": "{other}"}}')
    assert first == second
    assert len(first) == 1


def test_other_values_are_others() -> None:
    (one,), (two,) = stand_ins("write to ann.b@mailhost.com", "write to an.nb@mailhost.com")
    assert (one, two) == ("[REDACTED:email:1]", "[REDACTED:email:2]")


@pytest.mark.parametrize("said", ["password: winterland", "password is sunflower"])
def test_a_single_word_is_left_where_it_means_something_else(said: str) -> None:
    word = said.split()[-1]
    (_, elsewhere) = stand_ins(said, f"We went to {word} in May.")
    assert elsewhere == []


def test_part_of_a_longer_word_is_no_value() -> None:
    (told, longer) = stand_ins("password: hunter2000", "the file hunter2000x.txt and xhunter2000")
    assert len(told) == 1
    assert longer == []


def test_within_json_it_stays_json() -> None:
    call = ToolCall.received("c0", "note", f'{{"text": "it is \\"{FLAG}\\""}}')
    trajectory = make_trajectory(system_prompt=f"The password is {FLAG}.", turns=1)
    turn = msgspec.structs.replace(trajectory.turns[0], tool_calls=(call,))
    trajectory = msgspec.structs.replace(trajectory, turns=(turn,))
    clean = redacted(trajectory, SCAN.findings(trajectory))
    assert FLAG not in str(clean)
    (left,) = clean.turns[0].tool_calls
    assert left.arguments == '{"text": "it is \\"[REDACTED:credential:1]\\""}'


def test_addresses_of_the_same_digits_are_others() -> None:
    assert same("10.1.0.12") != same("101.0.1.2")
    assert same("+49 (30) 12-34") == same("+49301234")


def test_a_value_that_stands_everywhere_takes_no_time() -> None:
    begun = time.process_time()
    told, again = stand_ins("the password is aB3-xyz-9", "aB3-xyz-9 " * 50_000)
    assert len(told) == 1
    assert again == told * 50_000
    assert time.process_time() - begun < 10


@pytest.mark.slow
def test_many_values_and_a_long_text_take_no_time() -> None:
    told = "\n".join(f"password{n}: aB3-{n:05}-xyz{n}" for n in range(500))
    begun = time.process_time()
    found = stand_ins(told, "nothing of it " * 100_000)
    assert found[1] == []
    assert time.process_time() - begun < 10
