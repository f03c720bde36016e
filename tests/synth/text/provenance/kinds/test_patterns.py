"""What of patterns, small programs, modes and other languages must be known from somewhere."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.text.provenance.kinds import python, scripts, shell, sql, sql_names
from synth.text.provenance.kinds.patterns import told_mode, words_of
from synth.text.provenance.kinds.telling import telling
from tests.synth.text.provenance.kinds.test_literals import values


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (r"^order=K-4411\s+(\d{3,4})$", ["K-4411"]),
        (r"s/\bO-99123\b/O-88124/g", ["O-99123", "O-88124"]),
        ('$3 == 54728 { printf "%8d", $2 }', ["54728"]),
        ("NR > 1470 { print }", []),
        ("1470d", ["1470"]),
        (r"[a-f0-9]{36}\.jpg", []),
        ("E501", []),
        (r"\033[31mred\033[0m", []),
        ("HTTP/1.1 404", []),
    ],
)
def test_a_pattern_is_judged_by_its_words(pattern: str, expected: list[str]) -> None:
    assert values(words_of(pattern)) == expected


@pytest.mark.parametrize(
    ("mode", "told"),
    [("755", None), ("0644", None), ("2770", None), ("-022", None), ("648", "648"), ("176", "176")],
)
def test_a_mode_needs_a_source_where_others_may_do_more_than_the_owner(
    mode: str, told: str | None
) -> None:
    assert told_mode(mode) == told


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("lsof -i:6223", ["6223"]),
        ("ssh -p2244 lab", ["2244"]),
        ("cut -c10-20 x", []),
        ("find . -size +59K -o -size +64M -mtime +30", ["59"]),
        ("diff /tmp/ksh-{9725,9781}.log", ["ksh-9725.log", "ksh-9781.log"]),
        ("ping 345.187.54.997", ["345.187.54.997"]),
        ("ifconfig lan netmask 255.255.255.0", []),
        ("curl http://127.0.0.1:6667/x", ["6667"]),
        ('mq publish q --body \'{"id": "K-4411"}\'', ["K-4411"]),
        ("find . \\( -name a -o -name b \\) -print0 | xargs -0 md5sum", []),
        ("awk '$2 > 54728' invoices_4938.csv", ["54728", "invoices_4938.csv"]),
        ("edit 1:9\nprint('K-4411')\nend_of_edit", []),
    ],
)
def test_a_command_line_is_judged_by_its_options_and_patterns(
    line: str, expected: list[str]
) -> None:
    assert values(shell.literals(line)) == expected


def test_scripts_are_judged_by_strings_and_by_numbers_of_calls_that_act() -> None:
    text = (
        "const r = await api.cancelOrder('O-99123', {lineId: 47});  // O-1111\n"
        "console.log(`done ${r} for K-8812`, 4711);"
    )

    assert values(scripts.literals(text)) == ["O-99123", "K-8812", 47]


def test_strings_of_a_program_are_judged_word_by_word_and_json_in_them_by_its_values() -> None:
    text = (
        "print('found 12 items in 34 files')\n"
        "shop.cancel(order_id=47, note='closes O-99123, please')\n"
        'post(data=\'{"order": "K-4411"}\')'
    )

    assert sorted(map(str, values(python.literals(text)))) == ["47", "K-4411", "O-99123"]


def test_a_small_number_names_a_row_in_a_change_and_not_in_a_question() -> None:
    assert values(sql.literals("UPDATE rooms SET beds = 2 WHERE room_id = 47")) == [47]
    assert values(sql.literals("BEGIN; UPDATE p SET price = 794.12; COMMIT")) == [794.12]
    assert values(sql.literals("SELECT * FROM rooms WHERE room_id = 47")) == []


def test_names_in_a_change_are_those_that_the_text_does_not_make() -> None:
    assert list(sql_names.names("UPDATE orders AS o SET total = 1")) == ["orders", "total"]
    assert list(sql_names.names("SELECT total FROM orders")) == []
    made = "CREATE TABLE refunds (amount INT); INSERT INTO refunds (amount) VALUES (1)"
    assert list(sql_names.names(made)) == []


@given(st.text(max_size=60))
def test_any_pattern_and_script_can_be_read(text: str) -> None:
    assert all(isinstance(one, str) for one in values(words_of(text)))
    assert list(scripts.literals(text)) == list(scripts.literals(text))


@given(st.integers(0, 7), st.integers(0, 7), st.integers(0, 7))
def test_a_mode_whose_rights_shrink_needs_no_source(owner: int, group: int, others: int) -> None:
    group &= owner
    assert told_mode(f"{owner}{group}{others & group}") is None


def test_an_address_that_nobody_can_have_tells() -> None:
    assert telling("999.1.2.3")
    assert not telling("120.0.6099.109")
