"""The literals of command lines (shlex), and what a command makes."""

import re
import shlex
from collections.abc import Iterator, Sequence
from itertools import pairwise
from urllib.parse import parse_qsl, urlsplit

from synth.text.provenance.dates import as_date
from synth.text.provenance.kinds import python, sql
from synth.text.provenance.kinds.telling import (
    Literal,
    is_email,
    json_in,
    languages,
    names_one,
    number,
    of_json,
    telling_number,
)

_HEREDOC = re.compile(
    r"<<-?\s*(?P<q>['\"]?)(?P<end>\w+)(?P=q)(?P<rest>[^\n]*)\n(?P<text>.*?)(?:\n\s*(?P=end)\b|\Z)",
    re.DOTALL,
)
_COMMENT = re.compile(r"(?:^|(?<=\s))#[ !][^\n]*")
_BETWEEN = re.compile(r"[;&|()\n]+")
_ASSIGNED = re.compile(r"(?P<name>[A-Za-z_]\w*)=(?P<value>.*)", re.DOTALL)
_OPTION = re.compile(r"--?(?P<name>[A-Za-z][\w-]*)(?:=(?P<value>.*)|[^=]*)", re.DOTALL)
_SIZE = re.compile(r"[+-]?(?P<size>\d+(?:\.\d+)?)(?:[kKmMgGtTcbwhsd]|[kKMGT]i?B)?")
"""A number with a sign and a unit, as commands take them: +700k, -50c, 30d."""
_APART = re.compile(r"[/:@,=]")
_PLAIN = re.compile(r"[\w.+#~-]+")
"""A word without the signs of a pattern, a variable or a program."""
_DEEPEST = 4


def commands(text: str) -> list[list[str]]:
    """The words of each simple command; what cannot be split by a shell's rules, at white space."""
    plain = _COMMENT.sub("", text)
    try:
        lexer = shlex.shlex(plain, posix=True, punctuation_chars=";&|()\n<>")
        lexer.whitespace, lexer.commenters, lexer.whitespace_split = " \t\r", "", True
        words = list(lexer)
    except ValueError:
        words = [word.strip("'\"") for word in plain.split()]

    found: list[list[str]] = [[]]
    for word in words:
        if _BETWEEN.fullmatch(word) or word in languages().starts:
            found.append([])
        else:
            found[-1].append(word)

    return [_without_prefix(one) for one in found if one]


def _without_prefix(words: list[str]) -> list[str]:
    """A command without sudo, env and the like, and their options; assignments stay."""
    while words and words[0] in languages().prefixes:
        words = words[1:]
        while words and words[0].startswith("-"):
            words = words[1:]

    return words


def contents(text: str) -> list[str]:
    """Texts that a command line writes to files: here-documents that are no program's input."""
    found = _HEREDOC.finditer(text)
    return [one["text"] for one in found if not _program(text, one)]


def _program(text: str, found: re.Match[str]) -> str:
    """The interpreter that a here-document is given to; empty where it is written to a file."""
    line = text[text.rfind("\n", 0, found.start()) + 1 : found.start()] + " " + found["rest"]
    if ">" in line.replace("2>", ""):
        return ""

    words = next(iter(commands(line)[-1:]), [])
    name = words[0].rsplit("/", 1)[-1] if words else ""

    return "" if name in ("cat", "tee") else name


def made(text: str) -> set[str]:
    """The files and names that a command line makes: where it writes to, what it names new."""
    found: set[str] = set()
    for words in commands(_HEREDOC.sub(" ", text)):
        found |= {after for sign, after in pairwise(words) if ">" in sign}
        name = words[0].rsplit("/", 1)[-1] if words else ""
        operands = [one for one in words[1:] if not one.startswith("-")]
        if name in languages().makers:
            found.update(operands)
        elif name in languages().movers:
            found.update(operands[-1:])
        elif name == "git" and operands[:1] in (["checkout"], ["switch"], ["branch"]):
            found.update(operands[1:2] if {"-b", "-c", "-B", "-C"} & {*words} else ())

    return found


def literals(text: str, depth: int = 0) -> Iterator[Literal]:
    """The literals of a command line that tell something, and of the programs in it."""
    for found in _HEREDOC.finditer(text):
        program = _program(text, found)
        if program and depth < _DEEPEST:
            yield from _of_program(program, found["text"], depth)

    own = made(text)
    for words in commands(_HEREDOC.sub(" ", text)):
        for one in _of_command(words, depth):
            if str(one.value) not in own:
                yield one


def _of_program(program: str, text: str, depth: int) -> Iterator[Literal]:
    """The literals of what an interpreter is given."""
    if program in languages().shells and depth < _DEEPEST:
        yield from literals(text, depth + 1)
    elif program in languages().pythons:
        yield from python.literals(text)
    else:
        yield from sql.literals(text)


def _of_command(words: Sequence[str], depth: int) -> Iterator[Literal]:
    """The literals of a simple command: of its options, its operands, and programs given to it."""
    rest = list(words)
    while rest and _ASSIGNED.fullmatch(rest[0]):
        yield from _of_word(rest.pop(0), "", depth)

    name = rest[0].rsplit("/", 1)[-1] if rest else ""
    if rest and name not in languages().speakers:
        yield from _of_operands(name, rest, depth)


def _of_operands(name: str, rest: Sequence[str], depth: int) -> Iterator[Literal]:
    """The literals of what a command is given; `rest` begins with the command itself."""
    skipped, option = name not in languages().programs, ""
    if len(rest) == 1 or "/" in rest[0]:
        yield from _of_word(rest[0], "", depth)

    for at, word in enumerate(rest[1:], 1):
        previous, given = rest[at - 1], _OPTION.fullmatch(word)
        if previous in (*languages().worded, *languages().modes) or ">" in previous:
            continue

        program = name in (*languages().shells, *languages().pythons) and previous == "-c"
        if program:
            yield from _of_program(name, word, depth)
        elif given is not None:
            option = given["name"]
            yield from _of_word(given["value"] or "", option, depth, digits=3)
        elif not skipped:
            skipped = True
        else:
            yield from _of_word(word, option, depth, digits=3 if option else 2)
            option = ""


def _of_word(word: str, name: str, depth: int, *, digits: int = 2) -> Iterator[Literal]:
    """The literals of one word: JSON, a statement, an address, a path, a number, or a name."""
    found = _ASSIGNED.fullmatch(word)
    if found is not None and "://" not in word and not found["value"].startswith("="):
        yield from _of_word(found["value"], found["name"], depth, digits=digits)
    elif word[:1] in ("{", "[") and (value := json_in(word)) is not None:
        yield from of_json(value)
    elif sql.is_sql(word):
        yield from sql.literals(word)
    elif "://" in word:
        yield from (one for one in of_address(word) if _tells(str(one.value), digits))
    elif is_email(word) or as_date(word) is not None:
        yield Literal(word, name)
    else:
        # a path or a pattern at its signs, a text at its spaces
        parts = word.split() if " " in word else _APART.split(word)
        bare = (one.strip(".,;:!?()'\"*") if " " in word else one.strip("*") for one in parts)
        yield from (_literal(one, name) for one in bare if _tells(one, digits))


def of_address(word: str) -> Iterator[Literal]:
    """The parts of a URL that tell, and its host."""
    try:
        parts = urlsplit(word)
        given = parse_qsl(parts.query)
    except ValueError:
        return

    yield Literal(parts.netloc)
    yield from (Literal(one) for one in parts.path.split("/") if _tells(one, 2))
    yield from (Literal(value, key) for key, value in given if _tells(value, 2))


def _literal(part: str, name: str) -> Literal:
    """A part as it is looked for: of a size, the number."""
    size = _SIZE.fullmatch(part)
    return Literal(part if size is None else size["size"], name)


def _tells(part: str, digits: int) -> bool:
    """Whether a part of a path or an operand tells: also without the ending of a file's name."""
    size = _SIZE.fullmatch(part)
    if size is not None:
        value = number(size["size"])
        return value is not None and telling_number(value, digits=digits)

    if not _PLAIN.fullmatch(part):
        return False

    stem, dot, ending = part.rpartition(".")
    file = bool(dot) and ending.isalnum() and not ending.isdigit()

    return names_one(stem) if file and not is_email(part) else names_one(part)
