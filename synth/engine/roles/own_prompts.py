"""Prompts of the user's own in the place of those that come with synth: files of the same names in
a folder that a role of the flow names as `prompts`.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from string import Formatter

from synth.schemas import ConfigError, Message

PROMPTS = "prompts"
"""The setting of a role that names a folder, and the digest of its prompts beside the sampling."""
FILLED = frozenset({"injector/text", "injector/turn", "judge/attribution_step", "judge/steps_form"})
"""Prompts with fields in braces; in all others braces are JSON."""


@cache
def prompt(name: str) -> str:
    """The text of a prompt: a file of `data/prompts`."""
    return _shipped()[name]


@cache
def _shipped() -> Mapping[str, str]:
    """All prompts by name, such as `judge/reward`."""
    folder = files("synth") / "data" / "prompts"
    return {
        f"{role.name}/{file.name.removesuffix('.md')}": file.read_text(encoding="utf-8").rstrip(
            "\n"
        )
        for role in folder.iterdir()
        if role.is_dir()
        for file in role.iterdir()
        if file.name.endswith(".md")
    }


def own_prompts(folder: str) -> Mapping[str, str]:
    """The prompts in a folder, by name. Raises `ConfigError` where it holds none, one that synth
    has not, or one with other fields in braces.
    """
    place = Path(folder).expanduser()
    found = {
        str(path.relative_to(place).with_suffix("").as_posix()): path
        for path in sorted(place.rglob("*.md"))
    }
    if not found:
        raise ConfigError(f"prompts: {folder} holds no file such as judge/reward.md")

    known, own = _shipped(), dict[str, str]()
    for name, path in found.items():
        if name not in known:
            names = ", ".join(sorted(known))
            raise ConfigError(f"prompts: {folder}: there is no prompt {name}; known: {names}")
        own[name] = path.read_text(encoding="utf-8").rstrip("\n")
        expected = _fields(name, known[name])
        if sorted(_fields(name, own[name])) != sorted(expected):
            wanted = ", ".join(f"{{{field}}}" for field in expected)
            raise ConfigError(f"prompts: {path}: its fields in braces must be: {wanted}")
    return own


def _fields(name: str, text: str) -> list[str]:
    """The fields in braces of a prompt that is filled in, in order; none of one that is sent as it
    stands.
    """
    if name not in FILLED:
        return []
    try:
        return [field for _, field, _, _ in Formatter().parse(text) if field is not None]
    except ValueError:
        return ["(braces that do not close)"]


def with_own(messages: Sequence[Message], own: Mapping[str, str]) -> list[Message]:
    """The messages with the user's words in the place of synth's; what was filled in stays."""
    changed = list(messages)
    for name, text in own.items():
        pattern = _pattern(name)
        for at, message in enumerate(changed):
            content = message.get("content")
            found = pattern.search(content) if isinstance(content, str) else None
            if content is not None and found is not None:
                filled = _filled(name, text, found.groups())
                content = content[: found.start()] + filled + content[found.end() :]
                changed[at] = {**message, "content": content}
                break
    return changed


@cache
def _pattern(name: str) -> "re.Pattern[str]":
    """A shipped prompt as it stands in a message, its fields filled in."""
    text = _shipped()[name]
    if name not in FILLED:
        return re.compile(re.escape(text))
    parts = (
        re.escape(words) + ("" if field is None else "(.*?)")
        for words, field, _, _ in Formatter().parse(text)
    )
    return re.compile("".join(parts) + r"(?=\n|\Z)", re.DOTALL)


def _filled(name: str, text: str, values: Sequence[str]) -> str:
    """A prompt of the user's own with the values that stood in ours."""
    if name not in FILLED:
        return text
    fields = _fields(name, _shipped()[name])
    named = {field: value for field, value in zip(fields, values, strict=True) if field}
    return text.format(*values, **named)
