"""Literals in settings that are keys: by the name of what holds them, or by their look, wherever
they stand.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from synth.keys.looks import drawn, has_user, holds_issued, names_a_key, names_a_variable
from synth.schemas.errors import ConfigError

if TYPE_CHECKING:
    from synth.text.secrets.finder import Finder

ENVIRONMENTS = frozenset({"environment", "environ", "env", "env_vars", "headers"})
"""Settings that hold variables of a process, or headers: each name in there is looked at as a
variable's. A flow's `env` is a world.
"""
COMMANDS = frozenset({"command", "args", "arguments", "argv", "server_args", "flags", "entrypoint"})
"""Settings that end in a process's command line, which every user of the machine can read."""
FROM_ENV = "from_env"
REMEDY = (
    "this looks like a key, and would be stored with the run: export it where synth runs and "
    "name the variable, api_key_env: NAME of a "
    f"model, {{{FROM_ENV}: NAME}} in the environment of a world's process"
)
_ISSUED_WORDS = (
    "square_secret stripe_key telegram_token twilio_key url_password vault_token xai_key "
    "npm_token openai_key private_key pypi_token replicate_token sendgrid_key shopify_token "
    "slack_token anthropic_key api_key aws_access_key azure_storage_key databricks_token "
    "digitalocean_token discord_token github_token gitlab_token google_api_key google_oauth "
    "groq_key hugging_face_token jwt mailchimp_key"
)
_ISSUED = frozenset(_ISSUED_WORDS.split())
"""Kinds of secrets (synth/text/secrets) whose pattern is the key itself; what is told by its surroundings
alone would refuse prose.
"""
_PLACEHOLDER = re.compile(
    r"\$\{?\w+\}?|\$\(.*\)|<[^<>]*>|\{\{.*\}\}|%\w+%|\*+|x{3,}|\.{3}", re.IGNORECASE
)
_HARMLESS = re.compile(
    r"(?:true|false|yes|no|on|off|none|null|auto|default|required|optional|bearer|basic|[\d.]{1,4})?",
    re.IGNORECASE,
)
_PATH = re.compile(r"(?:~|\.{1,2})?/[^:@?=&]*|[A-Za-z]:\\.*")
_ASSIGNED = re.compile(
    r"""(?<![\w$])-{0,2}([A-Za-z][\w-]*)["']?\s*(?:=|:(?!//))\s*["']?([^\s"',;&]+)"""
)
_SAYS_WHAT_WORDS = "digest sha sha256 sha1 md5 checksum commit rev revision hash ref tag id uuid"
_SAYS_WHAT = frozenset(_SAYS_WHAT_WORDS.split())
_SENT = re.compile(r"\b(bearer|basic)\s+([A-Za-z0-9+/=._~-]{8,})", re.IGNORECASE)
_BEARER = re.compile(r"bearer\s+[^\s$<{]+", re.IGNORECASE)
"""As a header carries a key; the second is a whole value."""
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s\"'<>]+")
_FLAG = re.compile(r"--?[A-Za-z][\w-]*")


def key_like(value: Any, place: str = "") -> Iterator[str]:
    """Places in a setting that hold a key by their name or by their look, without the keys
    themselves.
    """
    yield from _in(value, place, "", variable=False, command=False)


def refuse_literals(settings: Any, before: str = "") -> None:
    """Raises `ConfigError` for the first literal key in settings, with its place (after `before`)
    and never with the key.
    """
    for place in key_like(settings):
        raise ConfigError(f"{before}{place or 'it'}: {REMEDY}")


def _in(value: Any, place: str, name: str, *, variable: bool, command: bool) -> Iterator[str]:
    if isinstance(value, Mapping):
        if set(value) == {FROM_ENV} and names_a_variable(str(value[FROM_ENV])):
            return
        for key, inner in value.items():
            text = str(key)
            if holds_issued(text):
                yield f"{place or 'it'} (a name in it)"
                continue
            of_a_process = text in ENVIRONMENTS and not (
                text == "env" and isinstance(inner, Mapping) and "name" in inner
            )
            below = {"variable": variable or of_a_process, "command": command or text in COMMANDS}
            yield from _in(inner, f"{place}.{text}" if place else text, text, **below)
    elif isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray):
        flag = ""
        for index, inner in enumerate(value):
            told = flag or name
            yield from _in(
                inner, f"{place}[{index}]", told, variable=variable or bool(flag), command=command
            )
            flag = (
                inner.lstrip("-")
                if command and isinstance(inner, str) and _FLAG.fullmatch(inner)
                else ""
            )
    elif (
        isinstance(value, str | int)
        and not isinstance(value, bool)
        and _is_key(str(value), name, variable=variable, command=command)
    ):
        yield place


def _is_key(text: str, name: str, *, variable: bool, command: bool) -> bool:
    if names_a_key(name, variable=variable) and not (_is_harmless(text) and (text or variable)):
        return True
    if _BEARER.fullmatch(text) or (
        (variable or command) and drawn(text) and not _told(name) and not _is_harmless(text)
    ):
        return True
    if (
        holds_issued(text)
        or any(map(has_user, _URL.findall(text)))
        or any(_is_sent(*found) for found in _SENT.findall(text))
    ):
        return True
    if any(
        _assigns_a_key(*found.groups(), command=command or variable)
        for found in _ASSIGNED.finditer(text)
    ):
        return True
    return bool(_issued().found(text))


def _is_sent(scheme: str, value: str) -> bool:
    """`Bearer ...`, `Basic ...`: what follows, where it is drawn at random or ends as base64
    does.
    """
    return (
        drawn(value, least=12)
        or value.endswith("=")
        or (scheme.lower() == "bearer" and any(map(str.isdigit, value)))
    )


def _assigns_a_key(name: str, value: str, *, command: bool) -> bool:
    """`--token=...`, `API_KEY=...`, `?api_key=...`: in a command whatever is assigned, in prose
    what is drawn at random.
    """
    if _is_harmless(value):
        return False
    if names_a_key(name, variable=command):
        return command or drawn(value, least=12)
    return command and drawn(value) and not _told(name)


def _is_harmless(text: str) -> bool:
    """Whether a text can be no key: nothing, a number, a word for yes or no, a path, a place that
    is filled in later.
    """
    return any(pattern.fullmatch(text.strip()) for pattern in (_HARMLESS, _PATH, _PLACEHOLDER))


def _told(name: str) -> bool:
    """Whether a name says that what it holds is drawn at random and no secret."""
    return any(word in _SAYS_WHAT for word in re.split(r"[^a-z0-9]+", name.lower()))


@cache
def _issued() -> "Finder":
    from synth.text.secrets.finder import Finder, kinds

    return Finder(sorted(_ISSUED & set(kinds())))
