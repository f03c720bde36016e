"""The card of a published dataset, written from the ledger and from the rows themselves: the
loudest things first.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from synth.engine.funnel import counted
from synth.engine.runs.unfinished import unfinished_line
from synth.exporters.card import loss_size, size_category
from synth.exporters.registry import form_of, kind_of
from synth.hub import card_sections as sections
from synth.hub import card_worlds as worlds
from synth.hub.outgoing import Searched
from synth.hub.row_facts import RowFacts
from synth.hub.source import Config
from synth.ledger.ledger import Ledger
from synth.schemas.printable import front_matter, in_cell, in_code, in_markdown


class Described(msgspec.Struct, frozen=True):
    """What a card is written from. `facts` by configuration; `paths` of its shards in the
    repository; `traces` how many are shown;
    `licence` as the card's metadata tells it.

    `skills`: (path in the repository, lines) of the skill texts beside a configuration.
    """

    ledger: Ledger
    repo: str
    licence: Mapping[str, str]
    configs: Sequence[Config]
    facts: Mapping[str, RowFacts]
    paths: Mapping[str, Sequence[str]]
    searched: Searched
    traces: int
    version: str
    skills: Mapping[str, tuple[str, int]] = {}


def card(one: Described) -> str:
    """README.md: the same text for the same ledger, rows and settings."""
    flow = one.ledger.state.flow or {}
    name = str(flow.get("name") or "run")
    ledger, licence = one.ledger, one.licence
    terms = (licence["license"], licence.get("license_name"), licence.get("license_link"))
    titled = {
        "How the rows were verified": sections.verified(ledger, one.configs),
        "Funnel and faults": sections.funnel_and_faults(ledger),
        "False discoveries": sections.false_discoveries(ledger),
        "Who wrote the rows": sections.authors(ledger),
        "Worlds": worlds.worlds(ledger),
        "Cost per kept row, by method": sections.cost_by_method(ledger, one.facts),
        "Methods": sections.methods(ledger),
        "Secrets and personal data": _secrets(one.searched),
        "What is left out, and what to know of each configuration": _remarks(one),
        "Training": _training(one),
        "Limits": worlds.limits(ledger, one.facts),
        "Licence": worlds.licences(ledger, *terms),
    }
    parts = [f"**WARNING** {in_cell(line)}" for line in warnings(one)]
    parts += [f"# {in_markdown(name)}: agent trajectories", _what(one, name)]
    parts += [_configurations(one), _load(one)]
    parts += [f"## {title}\n\n{text}" for title, text in titled.items()]
    return _metadata(one, name) + "\n\n".join(part.strip() for part in parts) + "\n"


def warnings(one: Described) -> Iterator[str]:
    """What a reader must not miss, counted in the rows."""
    unfinished = unfinished_line(one.ledger, "published")
    if unfinished is not None:
        yield f"{unfinished}; these rows are a part of what the run is to give."
    for name, facts in one.facts.items():
        for count, what in (
            (
                facts.scripted,
                "were written by scripts, not by a model (`include_scripted`).",
            ),
            (
                facts.gold_informed,
                "were made by someone who had looked at gold (`gold_informed`): no evidence of "
                "what the policy can do by itself.",
            ),
            (
                facts.benchmarks.total(),
                f"are attempts at public benchmarks ({', '.join(sorted(facts.benchmarks))}): what "
                "is trained on them cannot be measured there.",
            ),
            (
                facts.held_out.total(),
                f"are attempts at held-out tasks ({', '.join(sorted(facts.held_out))}): what is "
                "trained on them cannot be measured on that split.",
            ),
        ):
            if count:
                yield f"`{name}`: {count} of {facts.rows} rows {what}"


def _metadata(one: Described, name: str) -> str:
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
        paths = [{"split": "train", "path": list(one.paths[config.name])}]
        default = {} if listed else {"default": True}
        listed.append({"config_name": config.name, "data_files": paths, **default})
    info = DatasetCardData()
    infos.to_dataset_card_data(info)
    kinds = sorted({config.kind for config in one.configs})
    found: dict[str, Any] = {
        "pretty_name": f"{name}: agent trajectories",
        **one.licence,
        "task_categories": ["text-generation"],
        "tags": ["agent", "tool-use", "synthetic", *sections.world_names(one.ledger), *kinds],
        "size_categories": [size_category(sum(facts.rows for facts in one.facts.values()))],
        "configs": listed,
        "dataset_info": dict(info.__dict__)["dataset_info"],
    }
    return front_matter(found)


def _what(one: Described, name: str) -> str:
    flow = one.ledger.state.flow or {}
    names = ", ".join(map(in_code, sections.world_names(one.ledger))) or "no world"
    seeded = f"flow {in_code(name)}, seed {in_cell(str(flow.get('seed')))}"
    traces = (
        f" `traces/` holds {one.traces} of the trajectories behind them as session traces, for "
        "the viewer: a sample for looking at, in no configuration."
    )
    sql = "SELECT stage = 'import', count(*) FROM trajectories GROUP BY ALL"
    counts = dict(sections.asked(one.ledger, sql))
    got = "recorded elsewhere, imported" if True in counts else "collected, tested"
    if len(counts) == 2:
        got = (
            f"collected and tested ({counts[False]:,}) or recorded elsewhere and imported "
            f"({counts[True]:,})"
        )
    return (
        f"Trajectories of agents that act with tools in {names}, {got} and exported "
        f"by synth {one.version} ({seeded if 'seed' in flow else 'no flow'}, run "
        f"{in_code(one.ledger.state.run_id)}). Every number below is counted in the run's ledger "
        f"or in the rows.{traces if one.traces else ''}"
    )


def _configurations(one: Described) -> str:
    rows = []
    for config in one.configs:
        report, name = config.report, in_code(config.name)
        turns = report["trained_turns"]
        loss = loss_size(report.get("loss", 0), report.get("loss_unit", "characters"))
        told = (f"{turns:,}", loss) if turns else ("-", "-")
        rows.append((name, config.kind, f"{one.facts[config.name].rows:,}", *told, config.form))
    columns = ("configuration", "kind", "rows", "turns with loss", "size of what carries loss")
    parts = [sections.table((*columns, "form"), rows)]
    kinds = dict.fromkeys(config.kind for config in one.configs)
    parts += [f"**{kind}**: {kind_of(kind).one_row}" for kind in kinds]
    parts += [
        f"{in_code(path)}: skill texts that a model distilled from the chains that {lines:,} "
        f"trajectories of {in_code(name)} end, JSON lines of `trajectory_id`, `task_id`, `skill`, "
        "`pdi_index`; part of no row, and in no configuration."
        for name, (path, lines) in one.skills.items()
    ]
    return "\n\n".join(parts)


def _load(one: Described) -> str:
    def line(name: str, *given: str) -> str:
        variable = re.sub(r"\W", "_", name, flags=re.ASCII)
        return f'{variable} = load_dataset({", ".join(given)}, split="train")'

    lines = [line(config.name, *map(json.dumps, (one.repo, config.name))) for config in one.configs]
    for name, (path, _) in one.skills.items():
        at = json.dumps(f"hf://datasets/{one.repo}/{path}")
        lines.append(line(f"{name}_skills", '"json"', f"data_files={at}"))
    head = "from datasets import load_dataset  # datasets>=4.7\n\n"
    return f"```python\n{head}" + "\n".join(lines) + "\n```"


def _secrets(searched: Searched) -> str:
    again = "Before the dataset was sent, every text in it was searched once more"
    misses = "Patterns miss what they do not know."
    settings = searched.settings
    if not searched.by_filter or settings is None:
        return (
            f"{again}, for all kinds of secrets and personal data that synth knows: none were "
            f"found. {misses}"
        )
    given = {"looked for": settings["find"]}
    given |= {f"{key}:": settings[key] for key in ("ignore", "allow", "patterns") if settings[key]}
    told = "; ".join(in_cell(f"{what} {', '.join(names)}") for what, names in given.items())
    return (
        f"The filter `secrets` looked through all {searched.trajectories:,} trajectories of the "
        f"run ({told}); in {searched.redacted:,} something was found, and stand-ins of the form "
        f"`[REDACTED:kind:1]` take its place. {again} with the same settings: nothing was left. "
        f"{misses}"
    )


def _remarks(one: Described) -> str:
    parts = []
    for config in one.configs:
        report = config.report
        lines = [note.removeprefix("WARNING: ") for note in report["notes"]]
        for what, key in (
            ("left out by the export", "left_out"),
            ("dropped by filters", "filtered"),
        ):
            lines += [f"{what}: {counted(report[key])}"] if report[key] else []
        composition = one.facts[config.name].composition
        lines += [
            f"rows by {column}: {counted(counts)}"
            for column, counts in composition.items()
            if set(counts) - {"none"}
        ]
        listed = "\n".join(f"- {in_markdown(line)}" for line in lines)
        parts.append(f"### {in_markdown(config.name)}\n\n{listed}")
    return "\n\n".join(parts)


def _training(one: Described) -> str:
    parts = []
    for config in one.configs:
        form = form_of(config.kind, config.form)
        if form.per_turn is not None and "completion" in one.facts[config.name].schema.names:
            form = form.per_turn
        # load_dataset takes repository and name, where the exporter names one folder
        read_from = ", ".join(map(json.dumps, (one.repo, config.name)))[1:-1]
        parts.append(f"### {in_markdown(config.name)}\n\n{form.training(read_from).strip()}")
    return "\n\n".join(parts)
