"""Literals in settings that are keys, by the name of what holds them or by their look."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from synth.keys.looks import drawn, has_user, holds_issued, names_a_key, names_a_variable
from synth.schemas import ConfigError

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
_ISSUED_KINDS = (
    "square_secret stripe_key telegram_token twilio_key url_password vault_token xai_key "
    "npm_token openai_key private_key pypi_token replicate_token sendgrid_key shopify_token "
    "slack_token anthropic_key api_key aws_access_key azure_storage_key databricks_token "
    "digitalocean_token discord_token github_token gitlab_token google_api_key google_oauth "
    "groq_key hugging_face_token jwt mailchimp_key"
)
"""Kinds of secrets (synth/text/secrets) whose pattern is the key itself; what is told by its
surroundings alone would refuse prose.
"""
_HARMLESS = re.compile(
    r"(?:true|false|yes|no|on|off|none|null|auto|default|required|optional|bearer|basic"
    r"|[\d.]{1,4})?"
    r"|(?:~|\.{1,2})?/[^:@?=&]*|[a-z]:\\.*"
    r"|\$\{?\w+\}?|\$\(.*\)|<[^<>]*>|\{\{.*\}\}|%\w+%|\*+|x{3,}|\.{3}",
    re.IGNORECASE,
)
"""What can be no key: nothing, a word for yes or no, a number; a path; what is filled in later."""
_ASSIGNED = re.compile(
    r"""(?<![\w$])-{0,2}([A-Za-z][\w-]*)["']?\s*(?:=|:(?!//))\s*["']?([^\s"',;&]+)"""
)
_SAYS_WHAT = re.compile(
    r"(?i)(?<![a-z0-9])(?:digest|sha|sha256|sha1|md5|checksum|commit|rev|revision|hash|ref|tag|id"
    r"|uuid)(?![a-z0-9])"
)
"""In names of what is drawn at random and no secret."""
_SENT = re.compile(r"\b(bearer|basic)\s+([A-Za-z0-9+/=._~-]{8,})", re.IGNORECASE)
_BEARER = re.compile(r"bearer\s+[^\s$<{]+", re.IGNORECASE)
"""As a header carries a key; the second is a whole value."""
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s\"'<>]+")
_FLAG = re.compile(r"--?[A-Za-z][\w-]*")


def key_like(
    value: Any, place: str = "", name: str = "", *, variable: bool = False, command: bool = False
) -> Iterator[str]:
    """Places in a setting that hold a key by their name or their look, without the keys.

    `name` is that of the setting; it may be a `variable` of a process, or a part of its `command`.
    """
    if isinstance(value, Mapping):
        if set(value) == {FROM_ENV} and names_a_variable(str(value[FROM_ENV])):
            return

        for key, inner in value.items():
            text = str(key)
            if holds_issued(text):
                yield f"{place or 'it'} (a name in it)"
                continue

            is_world = text == "env" and isinstance(inner, Mapping) and "name" in inner
            yield from key_like(
                inner,
                f"{place}.{text}" if place else text,
                text,
                variable=variable or (text in ENVIRONMENTS and not is_world),
                command=command or text in COMMANDS,
            )
    elif isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray):
        flag = ""
        for index, inner in enumerate(value):
            below, of_flag = flag or name, variable or bool(flag)
            yield from key_like(
                inner, f"{place}[{index}]", below, variable=of_flag, command=command
            )
            is_flag = command and isinstance(inner, str) and _FLAG.fullmatch(inner)
            flag = inner.lstrip("-") if is_flag else ""
    elif (
        isinstance(value, str | int)
        and not isinstance(value, bool)
        and _is_key(str(value), name, variable=variable, command=command)
    ):
        yield place


def refuse_literals(settings: Any, before: str = "") -> None:
    """Raises `ConfigError` for the first literal key in settings.

    It says the key's place (after `before`), and never the key.
    """
    for place in key_like(settings):
        raise ConfigError(f"{before}{place or 'it'}: {REMEDY}")


def _is_key(text: str, name: str, *, variable: bool, command: bool) -> bool:
    """Whether a value is a key: by the name of what holds it, or by its look."""
    of_process = variable or command
    if names_a_key(name, variable=variable) and (
        not _is_harmless(text) or (text == "" and not variable)
    ):
        return True

    return (
        _BEARER.fullmatch(text) is not None
        or (of_process and drawn(text) and not _says_what(name) and not _is_harmless(text))
        or holds_issued(text)
        or any(map(has_user, _URL.findall(text)))
        or any(_is_sent(*found) for found in _SENT.findall(text))
        or any(_assigns_a_key(*found, command=of_process) for found in _ASSIGNED.findall(text))
        or bool(_issued().found(text))
    )


def _is_sent(scheme: str, value: str) -> bool:
    """Whether what follows `Bearer` or `Basic` is drawn at random, or ends as base64 does."""
    of_bearer = scheme.lower() == "bearer" and any(map(str.isdigit, value))
    return of_bearer or value.endswith("=") or drawn(value, least=12)


def _assigns_a_key(name: str, value: str, *, command: bool) -> bool:
    """Whether `--token=...`, `API_KEY=...`, `?api_key=...` assign a key.

    In a command that is whatever is assigned, in prose what is drawn at random.
    """
    if _is_harmless(value):
        return False

    if names_a_key(name, variable=command):
        return command or drawn(value, least=12)

    return command and drawn(value) and not _says_what(name)


def _is_harmless(text: str) -> bool:
    """Whether a text can be no key, such as a path or a word for yes."""
    return _HARMLESS.fullmatch(text.strip()) is not None


def _says_what(name: str) -> bool:
    """Whether a name is one of what is drawn at random and no secret."""
    return _SAYS_WHAT.search(name) is not None


@cache
def _issued() -> "Finder":
    """Finds the keys of known issuers; made once, since it needs RE2."""
    from synth.text.secrets.finder import Finder, kinds

    return Finder(sorted({*_ISSUED_KINDS.split()} & set(kinds())))
