"""The literals of command lines (shlex), and what a command makes."""

import re
import shlex
from collections.abc import Iterator, Sequence
from itertools import pairwise

from synth.text.json_values import json_in
from synth.text.provenance.effect import WRITING_VERBS, first_word
from synth.text.provenance.kinds import python, sql
from synth.text.provenance.kinds.patterns import told_mode, words_of
from synth.text.provenance.kinds.telling import Literal, languages, of_json, telling
from synth.text.provenance.kinds.words import ASSIGNED, of_word

_HEREDOC = re.compile(
    r"<<-?\s*(?P<q>['\"]?)(?P<end>\w+)(?P=q)(?P<rest>[^\n]*)\n(?P<text>.*?)(?:\n\s*(?P=end)\b|\Z)",
    re.DOTALL,
)
_REDIRECTS = re.compile(r"[\d&]?>{1,2}[|&]?")
_EDIT = re.compile(r"(?P<editor>[a-z_]+)\b[^\n]*\n(?P<text>.*)\n\w+", re.DOTALL)
_COMMENT = re.compile(r"(?:^|(?<=\s))#[ !][^\n]*")
_BETWEEN = re.compile(r"[;&|()`\n]+")
_OPTION = re.compile(
    r"-(?P<short>[A-Za-z])(?P<glued>\d+)"
    r"|--?(?P<name>[A-Za-z][\w-]*)(?:[=:](?P<value>.*)|[^=:]*)|-\d*[A-Za-z].*",
    re.DOTALL,
)
_DEEPEST = 4


def commands(text: str) -> list[list[str]]:
    """The words of each simple command; what cannot be split by a shell's rules, at white space."""
    plain = _COMMENT.sub("", text)
    try:
        lexer = shlex.shlex(plain, posix=True, punctuation_chars=";&|()`\n<>")
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
    """Texts that a command line writes to files: here-documents that are no program's input, and
    what an editor's command is given.
    """
    found = _HEREDOC.finditer(text)
    return [*_edited(text), *(one["text"] for one in found if not _program(text, one))]


def _edited(text: str) -> list[str]:
    """The lines between an editor's command (`edit 1:9`) and the word that ends them."""
    found = _EDIT.fullmatch(text.strip())
    named = found is not None and first_word(found["editor"]) in WRITING_VERBS
    return [found["text"]] if found and named and found["editor"] not in languages().makers else []


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
        found |= {after for sign, after in pairwise(words) if _REDIRECTS.fullmatch(sign)}
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
    for written in _edited(text):
        text = text.replace(written, "")

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
    while rest and ASSIGNED.fullmatch(rest[0]):
        yield from of_word(rest.pop(0))

    name = rest[0].rsplit("/", 1)[-1] if rest else ""
    if rest and name not in languages().speakers:
        if "/" in rest[0] or (len(rest) == 1 and telling(rest[0])):
            yield from of_word(rest[0])

        yield from _of_operands(name, rest, depth)


def _of_operands(name: str, rest: Sequence[str], depth: int) -> Iterator[Literal]:
    """The literals of what a command is given; `rest` begins with the command itself."""
    words, option, first = languages(), "", True

    for previous, word in pairwise(rest):
        given = _OPTION.fullmatch(word)
        if previous in words.worded or _REDIRECTS.fullmatch(previous):
            yield from of_json(json_in(word))
            continue

        if name in (*words.shells, *words.pythons) and previous == "-c":
            yield from _of_program(name, word, depth)
        elif previous in words.modes or (first and given is None and name in words.moded):
            first = False
            yield from (Literal(bits) for bits in [told_mode(word)] if bits is not None)
        elif given is not None:
            option = given["name"] or given["short"]
            yield from of_word(given["value"] or given["glued"] or "", option, digits=3)
        elif first and name in words.programs:
            first = False
            yield from words_of(word, looks=name == "sed" and "-n" in rest)
        elif not (first and name in words.signs):
            yield from of_word(word, option, digits=3 if option else 2)
            option, first = "", False
        else:
            first = False
