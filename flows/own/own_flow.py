"""A flow as its user gives it: a file of theirs, the name of one that is installed with synth, or a
`Flow`. A file in a run or a dataset is data: what it says of what runs counts only in a run that
was made here so.
"""

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from importlib.resources import files
from pathlib import Path
from typing import Any

from synth.envs.registry import ENVS
from synth.flows.data_folder import data_around
from synth.flows.own.bindings import private
from synth.flows.own.flow_file import flow_of, override, put, read_content, read_yaml
from synth.flows.own.run_record import made_here
from synth.flows.parts import DOTTED, PARTS, look_also_in, plugin_names, world
from synth.schemas import ConfigError, EnvChoice, Flow, FlowError, canonical_json, content_hash

Settings = Mapping[str, Any] | Sequence[str]
"""In place of a flow's own: values by name (`{"env.tasks": 5}`), or as on the command line
(`"env.tasks=5"`).
"""
REACH = ("engine", "base_url", "api_key_env", "python", "server_args")
"""Settings of a model that say what is started, or to whom a key of ours is sent."""


def refuse_what_a_run_says(path: Path) -> None:
    """Raises `ConfigError` for a file below a run or a dataset that says what runs, unless that run
    was made here by the same words.

    The folders of the user's other files are looked in for modules of theirs; those of data never
    are.
    """
    data = data_around(path)
    if data is None:
        look_also_in(path.parent)
        return
    said = what_runs(read_content(path))
    known = made_here(str(data)) if said else ()
    for words in said:
        if content_hash(words) not in known:
            place = words.partition(": ")[0]  # what stands there may be a key
            raise ConfigError(
                f"{path}: lies in the run or dataset {data}, which was not made here by this flow, "
                f"and says what runs ({place[:120]}): "
                "nothing below one may; read it, copy it to a folder of your own, and give that "
                "file instead"
            )


def what_runs(content: Mapping[str, Any]) -> list[str]:
    """What a flow, or an `env` block, says of modules, processes and servers, each in one line that
    equals only the same words.
    """
    is_flow = "env" in content or "stages" in content
    plugged = frozenset[str]().union(*map(plugin_names, PARTS))
    found = [
        *_starts(content.get("env") if is_flow else content),
        *_texts(
            {**content, "env": None} if is_flow else {},
            lambda text: text in plugged or DOTTED.fullmatch(text) is not None,
        ),
    ]
    models = content.get("models")
    for role, settings in models.items() if isinstance(models, dict) else ():
        given = settings if isinstance(settings, dict) else {}
        reach = {key: given[key] for key in REACH if key in given}
        if "model" in given or reach:
            found.append(f"models.{role}: {_words({**reach, 'model': given.get('model')})}")
    return list(dict.fromkeys(found))


def _starts(env: Any) -> Iterator[str]:
    if not isinstance(env, dict):
        return
    name, starting = env.get("name"), set(env)
    if isinstance(name, str) and name in ENVS:
        starting &= private(world(name))
    elif isinstance(name, str) and (DOTTED.fullmatch(name) or name in plugin_names("world")):
        yield f"env.name: {name}"
        if DOTTED.fullmatch(name):
            return
    for key in sorted(starting - EnvChoice.model_fields.keys(), key=str):
        yield f"env.{key}: {_words(env[key])}"


def _texts(value: Any, wanted: Callable[[str], bool]) -> Iterator[str]:
    """Every text in it that is `wanted`, keys among them."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _texts(key, wanted)
            yield from _texts(inner, wanted)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner, wanted)
    elif isinstance(value, str) and wanted(value):
        yield value


def _words(value: Any) -> str:
    return canonical_json(value).decode()


def flow_path(written: str | Path) -> Path:
    """A path; a bare name that is no file here (`quickstart`) is that of an installed flow
    (`synth.configs`).

    A path that leads nowhere is refused where it is read.
    """
    path = Path(written)
    if path.suffix or len(path.parts) > 1 or path.exists():
        return path
    installed = Path(str(files("synth.configs").joinpath(f"{path}.yaml")))
    return installed if installed.is_file() else path


def given_flow(given: Flow | Path | str, settings: Settings) -> tuple[Flow, str]:
    """The flow with `settings` in place of its own, and how it is called in messages. Raises
    `ConfigError`.
    """
    if isinstance(given, Flow):
        where = f"flow {given.name}"
        if not settings:
            return given, where
        # as a file would say it: a stage is {name: settings}
        content = given.model_dump(mode="json", exclude_unset=True)
        content["stages"] = [{one.name: deepcopy(one.settings)} for one in given.stages]
    else:
        path = flow_path(given)
        refuse_what_a_run_says(path)
        content, where = read_content(path), str(path)
    put_settings(content, settings)
    return flow_of(content, (), where), where


def put_settings(content: dict[str, Any], settings: Settings) -> None:
    """Puts settings in the place of what a flow's content says, in place. Raises `ConfigError`."""
    if not isinstance(settings, Mapping):
        for written in settings:
            override(content, written, read_yaml)
        return
    for name, value in settings.items():
        put(content, str(name), deepcopy(value), f"set {name!r}")


@contextlib.contextmanager
def in_file(flow_file: Path | str) -> Iterator[None]:
    """What is wrong in the flow is told with its file."""
    try:
        yield
    except FlowError as error:
        raise ConfigError(f"{flow_file}: {error}") from error
