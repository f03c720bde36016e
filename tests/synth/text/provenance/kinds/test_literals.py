"""What of a command, a statement or a program must be known from somewhere."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.text.provenance.kinds import python, shell, sql
from synth.text.provenance.kinds.telling import telling, telling_number


@pytest.mark.parametrize(
    "word", ["O-99123", "HAT271", "gift_card_0042", "3f9a1b2", "a.b@mail.example", "2026-03-05"]
)
def test_identifiers_dates_and_addresses_tell(word: str) -> None:
    assert telling(word)


@pytest.mark.parametrize(
    "word", ["int64", "sha256", "utf8", "v1.2.3", "requests==2.31.0", "127.0.0.1", "p95", "step"]
)
def test_words_of_languages_versions_and_this_machine_do_not(word: str) -> None:
    assert not telling(word)


def test_numbers_tell_from_100_on_unless_they_are_round_or_a_power_or_of_time() -> None:
    assert [n for n in (7, 99, 100, 500, 4096, 86400, 4821, 12.99, 0.5) if telling_number(n)] == [
        4821,
        12.99,
    ]


def values(found: object) -> list[object]:
    return [one.value for one in found]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("ls -la | head -n 20 && sleep 300", []),
        ("mv report_B-44121.pdf /srv/archive/", ["report_B-44121.pdf"]),
        ("chmod 755 run.sh; find . -size +100k -exec chmod 644 {} +", []),
        ("kill -9 4821 2>/dev/null", ["4821"]),
        ("grep -rn 'E501' src | sed -n '1470,1480p'", []),
        ("curl http://shop.local/orders/K-4411?user=91823", ["K-4411", "91823"]),
        ("""curl -d '{"order": "K-4411", "amount": 512.4}' x""", ["K-4411", 512.4]),
        ("git commit -m 'Close O-99123'", []),
        ('sqlite3 app.db "DELETE FROM s WHERE id = 91823"', [91823]),
        ("python3 -c \"shop.cancel('O-99123')\"", ["O-99123"]),
        ("cat > x.py <<'EOF'\ncancel('O-99123')\nEOF\n", []),
        ("python3 - <<'EOF'\nshop.cancel('O-99123')\nEOF\n", ["O-99123"]),
        ("./jobs/run_4711.sh --now", ["run_4711.sh"]),
        ("O-99123", ["O-99123"]),
        ("/usr/bin/python3.11 -V", []),
        ("# look at O-99123\nls", []),
        ("cancel 'O-99123 (", ["O-99123"]),
    ],
)
def test_a_command_line_is_judged_by_its_operands(line: str, expected: list[object]) -> None:
    assert values(shell.literals(line)) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("mkdir -p out_4711 && touch a.txt", {"out_4711", "a.txt"}),
        ("cp src_12.csv copy_12.csv", {"copy_12.csv"}),
        ("sort a > sorted_99.txt", {"sorted_99.txt"}),
        ("git checkout -b fix-4711", {"fix-4711"}),
        ("git checkout 3f9a1b2", set()),
    ],
)
def test_a_command_line_makes_what_it_names_new(line: str, expected: set[str]) -> None:
    assert shell.made(line) == expected


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("SELECT * FROM orders WHERE id = 'O-99123' LIMIT 150", ["O-99123"]),
        (
            "SELECT ROUND(100.0 * SUM(x) / COUNT(*), 2) FROM t WHERE day > '2026-03-05'",
            ["2026-03-05"],
        ),
        ("SELECT 1 FROM t WHERE total > 750", []),
        ("DELETE FROM t WHERE total > 750", [750]),
        ("INSERT INTO c (name, age) VALUES ('Ada', 41)", ["Ada"]),
        ("UPDATE o SET state = 'cancelled' WHERE id = 4711", [4711]),
        ("CREATE TABLE r (a VARCHAR(120), b DECIMAL(10, 2))", []),
        ("SELECT * FROM t WHERE name LIKE '%K-4411%'", ["K-4411"]),
    ],
)
def test_a_statement_is_judged_by_its_literals(statement: str, expected: list[object]) -> None:
    assert sql.is_sql(statement)
    assert values(sql.literals(statement)) == expected


def test_a_literal_belongs_to_the_column_that_it_is_set_to() -> None:
    told = sql.literals("INSERT INTO c (name, mail) VALUES ('Ada', 'ada@mail.example')")
    assert [one.name for one in told] == ["name", "mail"]


def test_prose_is_no_statement() -> None:
    assert not sql.is_sql("Select a nice jacket from the shop for me")
    assert not sql.is_sql("update my address")


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("import time\ntime.sleep(345)\nprint(4711, int('4711'))", []),
        ("shop.refund(order='K-4411', amount=512.4)", ["K-4411", 512.4]),
        ("def pay(x):\n    return x\npay(4711)", []),
        ('db.execute("DELETE FROM s WHERE id = 91823")', [91823]),
        ("def division(a: float, b: float) -> float:", []),
    ],
)
def test_a_program_is_judged_by_what_it_gives_to_calls_that_act(
    program: str, expected: list[object]
) -> None:
    assert python.is_python(program)
    assert values(python.literals(program)) == expected


@pytest.mark.parametrize("text", ["Blue (L)", "O-4471", "color=red", "12 Elm Street", "a"])
def test_structured_values_are_no_programs(text: str) -> None:
    assert not python.is_python(text)


@given(st.text(max_size=200))
def test_any_text_can_be_read(text: str) -> None:
    list(shell.literals(text))
    list(sql.literals(text))
    list(python.literals(text))
    shell.made(text)
