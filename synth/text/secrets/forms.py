"""All forms in which only what stands around a value makes it a secret, and how each is read."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from synth.text.secrets.contexts import (
    commands,
    credential_files,
    labelled,
    made,
    seed_words,
    spoken,
    tables,
)
from synth.text.secrets.values import unnamed

Reader = Callable[[str, int, int], Iterator[tuple[int, int]]]
_READ: Mapping[str, tuple[str, Reader]] = {
    **{name: (pattern, partial(labelled.values, name)) for name, pattern in labelled.FORMS.items()},
    "unnamed": (unnamed.UNNAMED, unnamed.unnamed_values),
    "seed words": (seed_words.SEED_WORDS, seed_words.seed_values),
    "table": (tables.TABLE, tables.table_values),
    "insert": (tables.INSERT, tables.insert_values),
    "made": (made.MADE, made.made_values),
    "codes": (made.CODES, made.code_values),
    "totp": (made.TOTP, made.totp_values),
    "spoken": (spoken.SPOKEN, spoken.spoken_values),
    "other scripts": (spoken.OTHER_SCRIPTS, spoken.foreign_values),
    "opened": (spoken.OPENED, spoken.opened_values),
    "code": (spoken.CODE, spoken.code_of_digits),
    "code, other scripts": (spoken.CODE_OTHER, spoken.code_of_digits),
    "credential file": (credential_files.CREDENTIAL_FILE, credential_files.file_values),
    "command": (commands.COMMAND, commands.command_values),
    "quoted flag": (commands.QUOTED_FLAG, commands.quoted_flag_values),
}
FORMS: Mapping[str, str] = {name: pattern for name, (pattern, _) in _READ.items()}
"""Form -> what RE2 looks for."""


def values(form: str, text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Where the values stand that a match of a form announces."""
    return _READ[form][1](text, start, end)


def sweep_of(form: str) -> str:
    """The pass that a form is searched in: together where the patterns share few states."""
    if form in ("unnamed", "seed words"):
        return "runs"
    return "named" if form in labelled.FORMS else "around"
