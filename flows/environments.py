"""What a user says of environments, and where: the `env` block of a flow, `--env NAME=FILE`, and a
file in their configuration folder.
"""

import os
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from synth.envs.registry import ENVS
from synth.flows.own.bindings import Bindings, SaidByUser, private, public
from synth.flows.own.flow_file import read_content
from synth.flows.own.own_flow import refuse_what_a_run_says
from synth.flows.own.run_record import said_of_run
from synth.flows.parts import folders, validated, world
from synth.keys import refuse_literals
from synth.ledger.ledger import StoredLedger
from synth.schemas import ConfigError, Env, EnvChoice, Flow, OpenEnv

FILE = "environments.yaml"
OPTION = "--env"
Files = Mapping[str, Path | str] | Sequence[str]
"""A file of the user's own by name of an environment, or `NAME=FILE` as on the command line."""


def bindings_of(said: Mapping[str, SaidByUser], *, named_in: str = "") -> Bindings:
    """What was said, then what the user's own file binds, then the registry's that need no
    start.
    """
    return Bindings(said, named_in=named_in, elsewhere=users_environments)


def bindings_for(
    ledger: StoredLedger, environments: Files, *, named_in: str | None = None
) -> Bindings:
    """What the user's files say, then how a run was made that was made here; nothing that lies in
    the run.

    Raises `ConfigError` for a file that says nothing of an environment.
    """
    said = {**said_of_run(ledger), **said_by_files(environments)}
    return bindings_of(said, named_in=named_in or ledger.storage.url)


def said_by_flow(flow: Flow) -> dict[str, SaidByUser]:
    """How the flow's environment is started; nothing where it has none. Raises `ConfigError` for
    settings that it does not take.
    """
    return {} if flow.env is None else {flow.env.name: said_of(flow.env, Path.cwd(), "env")}


def said_of(env: EnvChoice, base: Path, where: str) -> SaidByUser:
    """The part of an `env` block that says how the environment is started; its paths are taken from
    `base`.
    """
    found = world(env.name)
    start, within = found.start, () if env.name in ENVS else folders()
    if start is None:
        return SaidByUser(env.name, {}, within)
    given = {key: value for key, value in env.settings().items() if key in private(found)}
    also = [*EnvChoice.model_fields, *found.config.model_fields]
    validated(start.settings, given, where, also)
    paths = {key: _absolute(given[key], base) for key in start.paths if given.get(key) is not None}
    return SaidByUser(env.name, {**given, **paths}, within)


def without_start(env: EnvChoice) -> EnvChoice:
    """What of an `env` block is data: this alone reaches tasks and stages."""
    return EnvChoice.model_validate(public(world(env.name), env.model_dump()))


def said_by_files(files: Files) -> dict[str, SaidByUser]:
    """What files of the user's own bind, by the names that data uses, or as `NAME=FILE`. Raises
    `ConfigError`.
    """
    if isinstance(files, Mapping):
        return {name: said_in_file(Path(file), name)[1] for name, file in files.items()}
    by_name: dict[str, str] = {}
    for one in files:
        name, equals, file = one.partition("=")
        if not (name and equals and file):
            raise ConfigError(
                f"{OPTION} {one}: write NAME=FILE: the name that the data uses, and a file with "
                "an `env` block of your own"
            )
        if name in by_name:
            raise ConfigError(
                f"{OPTION} {name}: given twice; one file says how an environment is started"
            )
        by_name[name] = file
    return said_by_files(by_name)


def said_in_file(path: Path, name: str | None = None) -> tuple[str, SaidByUser]:
    """What a file of the user's own binds: an `env` block, or a flow that has one; by `name`, if
    one is given.

    Raises `ConfigError` for a file that says nothing of an environment, and for one that lies in a
    run which was not made here.
    """
    refuse_what_a_run_says(path)
    content = read_content(path)
    said = _said_in_block(content.get("env", content), name, Path.cwd(), str(path), "env ")
    return name or said.world, said


@cache
def _read_users_file(path: Path) -> Mapping[str, SaidByUser]:
    mode = path.stat().st_mode
    if mode & 0o022:
        raise ConfigError(
            f"{path}: others may write to it, and it says what runs here: chmod go-w {path}"
        )
    return {
        str(name): _said_in_block(block, str(name), path.parent, f"{path}: {name}")
        for name, block in read_content(path).items()
    }


def users_environments(environment: Mapping[str, str] | None = None) -> Mapping[str, SaidByUser]:
    """What the user's own $XDG_CONFIG_HOME/synth/environments.yaml (else below ~/.config) binds, by
    name. Raises `ConfigError`.
    """
    variables = os.environ if environment is None else environment
    base = Path(variables.get("XDG_CONFIG_HOME") or "~/.config").expanduser()
    path = base / "synth" / FILE
    return _read_users_file(path) if base.is_absolute() and path.is_file() else {}


def _said_in_block(
    block: Any, name: str | None, base: Path, where: str, what: str = ""
) -> SaidByUser:
    if not isinstance(block, dict):
        raise ConfigError(
            f"{where}: {what}is no mapping; it holds `name` and how the environment is started"
        )
    refuse_literals(block, f"{where}: ")
    env = validated(EnvChoice, {"name": name, **block}, "", before=f"{where}: ")
    if name in ENVS and env.name != name:
        raise ConfigError(
            f"{where}: describes {env.name!r}, not {name!r}; name the file that says how {name} "
            "is started"
        )
    found = world(env.name)
    keys = {*EnvChoice.model_fields, *found.config.model_fields, *private(found)}
    unknown = sorted(map(str, env.settings().keys() - keys))
    if unknown:
        raise ConfigError(
            f"{where}: {unknown[0]} is not a setting of {env.name}; allowed: "
            f"{', '.join(sorted(keys))}"
        )
    return said_of(env, base, where)


def _absolute(value: Any, base: Path) -> Any:
    """A path, or a list of them, as it holds in every folder."""
    if isinstance(value, list | tuple):
        return [_absolute(one, base) for one in value]
    return str(base / Path(value).expanduser())


def open_env(name: str, config: Mapping[str, Any]) -> Env:
    """A fresh environment of those that need no start, and of those that the user's own
    environments.yaml binds.

    Raises `synth.schemas.errors.UnboundError` for every other: a row may name an environment, but
    only `bound_envs` says how it is started.
    """
    return bindings_of({}).open_env(name, config)


def bound_envs(*files: str | Path) -> OpenEnv:
    """Opens what `open_env` does, and what these files of the user's own bind: flows, or files as
    `--env` takes them.

    Raises `ConfigError` for a file that says nothing of an environment.
    """
    said = [said_in_file(Path(file)) for file in files]
    return bindings_of(dict(said)).open_env
