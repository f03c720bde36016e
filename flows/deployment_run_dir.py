"""Where a firing of a deployment writes: a template with the flow's name and the time of the
firing.
"""

import string
from datetime import datetime
from pathlib import Path

from synth.keys.looks import has_user
from synth.ledger.storage_url import CREDENTIALS
from synth.schemas.errors import ConfigError

DEFAULT = "runs/{name}-{date}"
_KNOWN = ("name", "date", "time")


def refuse_unknown(template: str) -> None:
    """Raises `ConfigError` where a template holds what no firing can fill in, or a key."""
    if has_user(template):
        raise ConfigError(f"--run-dir: {CREDENTIALS}")
    try:
        names = [name for _, name, _, _ in string.Formatter().parse(template) if name is not None]
    except ValueError as error:
        raise ConfigError(
            f"--run-dir {template}: {error}; write {{name}}, {{date}} or {{time}}"
        ) from error
    unknown = [name for name in names if name not in _KNOWN]
    if unknown or not template:
        raise ConfigError(
            f"--run-dir {template}: {{{unknown[0] if unknown else ''}}} is not known; there are "
            "{name}, {date} and {time}"
        )


def run_dir_of(template: str, name: str, fired: datetime) -> str:
    """The run directory of the firing that was due at `fired`. Raises `ConfigError`."""
    refuse_unknown(template)
    return template.format(
        name=name, date=fired.strftime("%Y-%m-%d"), time=fired.strftime("%H%M%S")
    )


def settled(template: str, *, remote: bool) -> str:
    """The template as workers are given it: a path of this machine is made absolute. Raises
    `ConfigError` where only this machine has it.

    `remote`: the flow runs do not start as processes of a worker, so they see no folder that this
    machine calls by a relative path.
    """
    refuse_unknown(template)
    if "://" in template or Path(template).is_absolute():
        return template
    if remote:
        raise ConfigError(
            f"--run-dir {template}: the work pool starts its runs elsewhere; name a URL that they "
            "all reach, such as "
            "s3://bucket/{name}-{date}, or the absolute path of a disk that they share"
        )
    return str(Path(template).absolute())
