"""What a deployment sets of the process, container or pod that a worker makes for a run: image,
volumes, memory, environment, ...
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from synth.flows.overrides import override
from synth.flows.yaml_file import read_yaml
from synth.keys.literals import key_like
from synth.schemas.errors import ConfigError

OPTION = "--job-variable"
_REFERENCE = re.compile(r"\{\{\s*prefect\.blocks\.[\w.-]+\s*\}\}")
_SECRET_ENDINGS = ("_KEY", "_TOKEN", "_SECRET", "_PASSWORD", "_AUTH_STRING")


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
    env = given.get("env")
    names = {
        f"env.{name}": value for name, value in (env.items() if isinstance(env, Mapping) else ())
    } | {name: value for name, value in given.items() if name != "env"}
    plain = {name: value for name, value in names.items() if not _is_reference(value)}
    by_name = [
        name for name in plain if name.startswith("env.") and name.upper().endswith(_SECRET_ENDINGS)
    ]
    variables = {
        name.removeprefix("env."): value for name, value in plain.items() if name.startswith("env.")
    }
    return [
        *by_name,
        *key_like(
            {**{name: value for name, value in plain.items() if name in given}, "env": variables}
        ),
    ]


def _is_reference(value: Any) -> bool:
    """To a block, which the worker reads from the server when a run starts."""
    return isinstance(value, str) and _REFERENCE.fullmatch(value) is not None


def refuse_unfit(pool: Any, given: Mapping[str, Any]) -> None:
    """Raises `ConfigError` where a pool's template has no such variable, or where its runs need an
    image and none is named.
    """
    known: Mapping[str, Any] = (pool.base_job_template.get("variables") or {}).get(
        "properties"
    ) or {}
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
    env = given.get("env")
    shown = {name: value for name, value in given.items() if name != "env"}
    words = [
        f"{name}={value if isinstance(value, str) else json.dumps(value, default=str)}"
        for name, value in shown.items()
    ]
    return ", ".join(
        [*words, *(f"env.{name}" for name in (env if isinstance(env, Mapping) else ()))]
    )
