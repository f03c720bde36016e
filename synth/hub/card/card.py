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
from synth.hub.publication import File
from synth.hub.row_facts import RowFacts
from synth.hub.source import Config
from synth.ledger.ledger import StoredLedger
from synth.ledger.views import connect
from synth.report.section import asked
from synth.report.sections.funnel import reports
from synth.schemas import front_matter


class Described(msgspec.Struct, frozen=True):
    """What a card is written from. `facts` by configuration; `traces` how many are shown; `licence`
    as the card's metadata tells it.
    """

    ledger: StoredLedger
    repo: str
    licence: Mapping[str, str]
    configs: Sequence[Config]
    facts: Mapping[str, RowFacts]
    searched: Searched
    traces: int

    @property
    def skills(self) -> dict[str, File]:
        """The skill texts beside a configuration, by its name."""
        return {one.name: one.skills for one in self.configs if one.skills is not None}

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
    said = reports(one.ledger)
    filters = [entry for each in said.values() for entry in each.get("filters", ())]
    played = {env: _played(one, env, said) for env in environments(one.ledger)}

    with connect(one.ledger) as connection:
        found = {name: asked(connection, sql) for name, sql in tables.QUERIES.items()}

    text = written(
        "card.md",
        one=one,
        found=found,
        reports=said,
        configurations=tables.configurations(one.configs, one.facts),
        cost=tables.cost_by_method(found["costs"][1], one.facts),
        filters=filters,
        funnel=funnel_markdown(said),
        judged=tables.judged(filters),
        loads=_loads(one),
        methods=tables.methods(said),
        played=played,
        trainings={config.name: _training(one, config) for config in one.configs},
        warnings=warnings(one),
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
    kinds = sorted({config.kind for config in one.configs})
    found: dict[str, Any] = {
        "pretty_name": f"{one.name}: agent trajectories",
        **one.licence,
        "task_categories": ["text-generation"],
        "tags": ["agent", "tool-use", "synthetic", *environments(one.ledger), *kinds],
        "size_categories": [size_category(sum(facts.rows for facts in one.facts.values()))],
        "configs": _configs(one),
        "dataset_info": _dataset_info(one),
    }

    return front_matter(found)


def _configs(one: Described) -> list[dict[str, Any]]:
    """What `load_dataset` loads by which name: each configuration, and the classes of evidence in
    it.
    """
    listed = list[dict[str, Any]]()
    for config in one.configs:
        # the first one is loaded where none is named, if it may be loaded unasked
        first = config.name == config.folder and not any("default" in each for each in listed)
        for name, shards in config.loaded.items():
            default = {"default": True} if first and name == config.name else {}
            paths = [config.files[shard].path for shard in shards]
            files = [{"split": "train", "path": paths}]
            listed.append({"config_name": name, "data_files": files, **default})

    return listed


def _dataset_info(one: Described) -> Any:
    """Sizes and columns of each configuration, as `datasets` tells them to the Hub."""
    from datasets import DatasetInfo, Features
    from datasets.info import DatasetInfosDict
    from datasets.splits import SplitDict, SplitInfo
    from huggingface_hub import DatasetCardData

    infos = DatasetInfosDict()
    for config in one.configs:
        facts, splits = one.facts[config.name], SplitDict()
        splits.add(SplitInfo("train", num_bytes=facts.bytes, num_examples=facts.rows))
        infos[config.name] = DatasetInfo(
            features=Features.from_arrow_schema(facts.schema),
            splits=splits,
            download_size=sum(file.size for file in config.files.values()),
            dataset_size=facts.bytes,
            config_name=config.name,
        )

    info = DatasetCardData()
    infos.to_dataset_card_data(info)

    return vars(info)["dataset_info"]


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

    for name, file in one.skills.items():
        at = json.dumps(f"hf://datasets/{one.repo}/{file.path}")
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
        form = form.cuts.get("per_turn" if "turn" in columns else "context", form)

    # load_dataset takes repository and name, where the exporter names one folder
    read_from = ", ".join(map(json.dumps, (one.repo, config.name)))[1:-1]

    return form.training(read_from).strip()
