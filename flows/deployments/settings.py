"""What a person says of a deployment: its schedule, where its firings write, what its jobs are
given, and whom to tell.
"""

import json
import re
import string
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from synth.flows.own.flow_file import override, read_yaml
from synth.keys.literals import key_like
from synth.keys.looks import has_user
from synth.ledger.storage.names import CREDENTIALS
from synth.schemas import ConfigError

_KNOWN = ("name", "date", "time")
OPTION = "--job-variable"
_REFERENCE = re.compile(r"\{\{\s*prefect\.blocks\.[\w.-]+\s*\}\}")
"""To a block, which the worker reads from the server when a run starts."""
_SECRET_ENDINGS = ("_KEY", "_TOKEN", "_SECRET", "_PASSWORD", "_AUTH_STRING")


def refuse_bad_schedule(cron: str | None, interval_s: float | None, timezone: str) -> None:
    """Raises `ConfigError` for what no server takes as a schedule."""
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    if cron is not None and interval_s is not None:
        raise ConfigError("--cron and --interval: give one of them")
    if interval_s is not None and not 1 <= interval_s <= 366 * 86400:
        raise ConfigError(f"--interval {interval_s:g}: give seconds, from 1 to a year of them")
    try:
        ZoneInfo(timezone)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise ConfigError(
            f"--timezone {timezone}: not known here; give a name such as Europe/Berlin or UTC"
        ) from error
    if cron is not None:
        from prefect.client.schemas.schedules import CronSchedule
        from pydantic import ValidationError

        try:
            CronSchedule(cron=cron, timezone=timezone)
        except ValidationError as error:
            raise ConfigError(
                f"--cron {cron!r}: not a cron line; five fields, such as '0 2 * * *' for two in "
                "the night"
            ) from error


def refuse_bad_url(url: str) -> None:
    """Raises `ConfigError` for what cannot be posted to."""
    if not url.startswith(("http://", "https://")):
        raise ConfigError("--notify: give the URL of a webhook, beginning with https:// or http://")


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


def job_variables(written: Sequence[str]) -> dict[str, Any]:
    """From `name=value`, values as in YAML; `env.NAME=text`. Raises `ConfigError`, also for keys:
    the server keeps these in clear.
    """
    given: dict[str, Any] = {}
    for one in written:
        override(given, one, _text if one.startswith("env.") else read_yaml, OPTION)
    for place in _secrets(given):
        raise ConfigError(
            f"{OPTION} {place}: the server would keep this in clear; keep it there as a secret "
            "block, and write "
            f"'{place}={{{{ prefect.blocks.secret.NAME }}}}' (docs/deployments.md)"
        )
    return given


def _text(value: str, _where: str) -> str:
    """An environment holds text only."""
    return value


def _secrets(given: Mapping[str, Any]) -> list[str]:
    """Places that hold a key by name or by look; a reference to a secret block is none."""

    def plain(values: Mapping[str, Any]) -> dict[str, Any]:
        return {
            name: value
            for name, value in values.items()
            if not (isinstance(value, str) and _REFERENCE.fullmatch(value))
        }

    env = plain(_env(given))
    by_name = [f"env.{name}" for name in env if name.upper().endswith(_SECRET_ENDINGS)]
    return [*by_name, *key_like({**plain(given), "env": env})]


def _env(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """The environment variables among what a job is given."""
    env = given.get("env")
    return env if isinstance(env, Mapping) else {}


def refuse_unfit(pool: Any, given: Mapping[str, Any]) -> None:
    """Raises `ConfigError` where a pool's template has no such variable, or where its runs need an
    image and none is named.
    """
    variables = pool.base_job_template.get("variables") or {}
    known: Mapping[str, Any] = variables.get("properties") or {}
    for name in given:
        if name not in known:
            raise ConfigError(
                f"{OPTION} {name}: the work pool {pool.name} ({pool.type}) has no such variable; "
                f"it has {', '.join(sorted(known)) or 'none'} (`prefect work-pool inspect "
                f"{pool.name}`)"
            )
    if "image" in known and not given.get("image") and not known["image"].get("default"):
        raise ConfigError(
            f"--work-pool {pool.name}: its runs start in containers ({pool.type}), and no image "
            f"is named; give {OPTION} image=NAME:TAG, "
            "one with synth installed (docs/deployments.md), or set the pool's default"
        )


def in_words(given: Mapping[str, Any]) -> str:
    """One line, without the values of environment variables."""
    words = [
        f"{name}={value if isinstance(value, str) else json.dumps(value, default=str)}"
        for name, value in given.items()
        if name != "env"
    ]
    return ", ".join([*words, *(f"env.{name}" for name in _env(given))])


def when(cron: str | None, interval_s: float | None, timezone: str) -> str | None:
    """A schedule in words; None where there is none."""
    if cron is not None:
        return f"cron {cron!r} ({timezone})"
    return None if interval_s is None else f"every {interval_s:g} s"
