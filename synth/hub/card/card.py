"""The card of a published dataset, written from the ledger and from the rows themselves: the
loudest things first. Its words stand in `data/card.md`.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from synth.engine.funnel import funnel_markdown
from synth.engine.runs.unfinished import unfinished_line
from synth.exporters.card import size_category
from synth.exporters.registry import form_of
from synth.hub.card import tables
from synth.hub.card.words import written
from synth.hub.outgoing import Searched
from synth.hub.row_facts import RowFacts
from synth.hub.source import Config
from synth.ledger.ledger import StoredLedger
from synth.ledger.views import connect
from synth.report.section import asked
from synth.report.sections.funnel import reports
from synth.schemas import front_matter


class Described(msgspec.Struct, frozen=True):
    """What a card is written from. `facts` by configuration; `paths` of its shards in the
    repository; `traces` how many are shown;
    `licence` as the card's metadata tells it.

    `skills`: (path in the repository, lines) of the skill texts beside a configuration.
    """

    ledger: StoredLedger
    repo: str
    licence: Mapping[str, str]
    configs: Sequence[Config]
    facts: Mapping[str, RowFacts]
    paths: Mapping[str, Sequence[str]]
    searched: Searched
    traces: int
    version: str
    skills: Mapping[str, tuple[str, int]] = {}

    @property
    def flow(self) -> Mapping[str, Any]:
        """As the run recorded it; none of what was imported."""
        return self.ledger.state.flow or {}

    @property
    def name(self) -> str:
        """Of the flow."""
        return str(self.flow.get("name") or "run")


def card(one: Described) -> str:
    """README.md: the same text for the same ledger, rows and settings."""
    return _metadata(one) + body(one)


def body(one: Described) -> str:
    """The card without its metadata."""
    said, envs = reports(one.ledger), environments(one.ledger)

    filters = [entry for each in said.values() for entry in each.get("filters", ())]
    played = {env: _played(one, env, said) for env in envs}
    # either name says that a stage has measured its false discoveries
    rates = {"expected_false_share", "false_share"}

    with connect(one.ledger) as connection:
        found = {name: asked(connection, sql) for name, sql in tables.QUERIES.items()}

    text = written(
        "card.md",
        one=one,
        found=found,
        configurations=tables.configurations(one.configs, one.facts),
        cost=tables.cost_by_method(found["costs"][1], one.facts),
        envs=envs,
        filters=filters,
        funnel=funnel_markdown(said),
        imported=dict(found["imported"][1]),
        judged=tables.judged(filters),
        loads=list(_loads(one)),
        methods=tables.methods(said),
        played=played,
        tested={stage: each for stage, each in said.items() if rates & each.keys()},
        trainings={config.name: _training(one, config) for config in one.configs},
        warnings=list(warnings(one)),
        worlds=tables.worlds(found["worlds"][1], played),
    )

    return text.strip() + "\n"


def warnings(one: Described) -> Iterator[str]:
    """What a reader must not miss, counted in the rows."""
    unfinished = unfinished_line(one.ledger, "published")
    if unfinished is not None:
        yield f"{unfinished}; these rows are a part of what the run is to give."

    for name, facts in one.facts.items():
        benchmarks, held_out = facts.benchmarks, facts.held_out
        told = {
            "were written by scripts, not by a model (`include_scripted`).": facts.scripted,
            "were made by someone who had looked at gold (`gold_informed`): no evidence of what "
            "the policy can do by itself.": facts.gold_informed,
            f"are attempts at public benchmarks ({', '.join(sorted(benchmarks))}): what is trained "
            "on them cannot be measured there.": benchmarks.total(),
            f"are attempts at held-out tasks ({', '.join(sorted(held_out))}): what is trained on "
            "them cannot be measured on that split.": held_out.total(),
        }
        for what, count in told.items():
            if count:
                yield f"`{name}`: {count} of {facts.rows} rows {what}"


def environments(ledger: StoredLedger) -> list[str]:
    """Those of the valid trajectories, else of the tasks."""
    with connect(ledger) as connection:
        _, found = asked(connection, tables.ENVS)

        if not found:
            _, found = asked(connection, "SELECT DISTINCT env FROM tasks ORDER BY env")

    return [env for (env,) in found if env]


def _metadata(one: Described) -> str:
    from datasets import DatasetInfo, Features
    from datasets.info import DatasetInfosDict
    from datasets.splits import SplitDict, SplitInfo
    from huggingface_hub import DatasetCardData

    infos, listed = DatasetInfosDict(), list[dict[str, Any]]()
    for config in one.configs:
        facts, splits = one.facts[config.name], SplitDict()

        splits.add(SplitInfo("train", num_bytes=facts.bytes, num_examples=facts.rows))
        infos[config.name] = DatasetInfo(
            features=Features.from_arrow_schema(facts.schema),
            splits=splits,
            download_size=sum(path.stat().st_size for path in config.files.values()),
            dataset_size=facts.bytes,
            config_name=config.name,
        )

        # the first one is loaded where none is named, if it may be loaded unasked
        first = config.name == config.folder and not any("default" in each for each in listed)
        views = {
            name: [f"{config.folder}/{file}" for file in config.views[name]]
            for name in config.views
        }
        for name, paths in {config.name: list(one.paths[config.name]), **views}.items():
            default = {"default": True} if first and name == config.name else {}
            files = [{"split": "train", "path": paths}]
            listed.append({"config_name": name, "data_files": files, **default})

    info = DatasetCardData()
    infos.to_dataset_card_data(info)

    kinds = sorted({config.kind for config in one.configs})
    found: dict[str, Any] = {
        "pretty_name": f"{one.name}: agent trajectories",
        **one.licence,
        "task_categories": ["text-generation"],
        "tags": ["agent", "tool-use", "synthetic", *environments(one.ledger), *kinds],
        "size_categories": [size_category(sum(facts.rows for facts in one.facts.values()))],
        "configs": listed,
        "dataset_info": dict(info.__dict__)["dataset_info"],
    }

    return front_matter(found)


def _played(one: Described, env: str, said: tables.Reports) -> tuple[str, str]:
    """(versions, licences) of an environment whose episodes were played in this run."""
    found = [
        each for report in said.values() for each in report.get("worlds", ()) if each["env"] == env
    ]

    versions, licences = ({each[key]: None for each in found} for key in ("version", "licence"))
    own = one.flow.get("env") or {}

    if not found and env == own.get("name"):  # runs that are older than these records
        settings = (line.settings.get("world") for line in one.ledger.state.stages.values())
        versions = dict.fromkeys(sorted({world for world in settings if isinstance(world, str)}))

    return ", ".join(versions) or "not recorded", "; ".join(licences) or "not recorded"


def _loads(one: Described) -> Iterator[str]:
    """A line of code for each configuration, and for the skill texts beside it."""
    for config in one.configs:
        yield _load(config.name, one.repo, config.name)

    for name, (path, _) in one.skills.items():
        at = json.dumps(f"hf://datasets/{one.repo}/{path}")
        yield _load(f"{name}_skills", "json", data_files=at)


def _load(name: str, *given: str, **named: str) -> str:
    # the name of a folder may be none of a variable
    variable = re.sub(r"\W", "_", name, flags=re.ASCII)
    arguments = [*map(json.dumps, given), *(f"{key}={value}" for key, value in named.items())]

    return f'{variable} = load_dataset({", ".join(arguments)}, split="train")'


def _training(one: Described, config: Config) -> str:
    """How to train on a configuration, as the repository holds it."""
    form = form_of(config.kind, config.form)
    columns = one.facts[config.name].schema.names
    if "completion" in columns and config.kind == "sft":
        # rows of one turn name it
        form = (form.per_turn if "turn" in columns else form.context) or form

    # load_dataset takes repository and name, where the exporter names one folder
    read_from = ", ".join(map(json.dumps, (one.repo, config.name)))[1:-1]

    return form.training(read_from).strip()
