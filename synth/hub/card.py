"""The card of a published dataset, written from the ledger and from the rows themselves: the
loudest things first.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from synth.engine.funnel import counted
from synth.engine.unfinished import unfinished_line
from synth.exporters.card import loss_size, size_category
from synth.exporters.registry import form_of, kind_of
from synth.hub import card_sections as sections
from synth.hub.card_worlds import licences, worlds
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
    parts = [
        *(f"**WARNING** {in_cell(line)}" for line in warnings(one)),
        f"# {in_markdown(name)}: agent trajectories",
        _what(one, name),
        _configurations(one),
        _load(one),
        *(
            f"## {title}\n\n{text}"
            for title, text in (
                ("How the rows were verified", sections.verified(one.ledger, one.configs)),
                ("Funnel and faults", sections.funnel_and_faults(one.ledger)),
                ("False discoveries", sections.false_discoveries(one.ledger)),
                ("Who wrote the rows", sections.authors(one.ledger)),
                ("Worlds", worlds(one.ledger)),
                ("Cost per kept row, by method", sections.cost_by_method(one.ledger, one.facts)),
                ("Methods", sections.methods(one.ledger)),
                ("Secrets and personal data", _secrets(one.searched)),
                ("What is left out, and what to know of each configuration", _remarks(one)),
                ("Training", _training(one)),
                ("Limits", sections.limits(one.ledger, one.facts)),
                (
                    "Licence",
                    licences(
                        one.ledger,
                        one.licence["license"],
                        one.licence.get("license_name"),
                        one.licence.get("license_link"),
                    ),
                ),
            )
        ),
    ]
    return _metadata(one, name) + "\n\n".join(part.strip() for part in parts) + "\n"


def warnings(one: Described) -> Iterator[str]:
    """What a reader must not miss, counted in the rows."""
    unfinished = unfinished_line(one.ledger, "published")
    if unfinished is not None:
        yield f"{unfinished}; these rows are a part of what the run is to give."
    for name, facts in one.facts.items():
        if facts.scripted:
            yield (
                f"`{name}`: {facts.scripted} of {facts.rows} rows were written by scripts, "
                "not by a model (`include_scripted`)."
            )
        if facts.gold_informed:
            yield (
                f"`{name}`: {facts.gold_informed} of {facts.rows} rows were made by someone who "
                "had looked at gold (`gold_informed`): no "
                "evidence of what the policy can do by itself."
            )
        for what, found, use in (
            (
                "attempts at public benchmarks",
                facts.benchmarks,
                "what is trained on them cannot be measured there",
            ),
            (
                "attempts at held-out tasks",
                facts.held_out,
                "what is trained on them cannot be measured on that split",
            ),
        ):
            if found:
                yield (
                    f"`{name}`: {found.total()} of {facts.rows} rows are {what} "
                    f"({', '.join(sorted(found))}): {use}."
                )


def _metadata(one: Described, name: str) -> str:
    from datasets import DatasetInfo, Features
    from datasets.info import DatasetInfosDict
    from datasets.splits import SplitDict, SplitInfo
    from huggingface_hub import DatasetCardData

    infos = DatasetInfosDict()
    for config in one.configs:
        facts = one.facts[config.name]
        size = sum(path.stat().st_size for path in config.files.values())
        splits = SplitDict()
        splits.add(SplitInfo("train", num_bytes=facts.bytes, num_examples=facts.rows))
        features = Features.from_arrow_schema(facts.schema)
        infos[config.name] = DatasetInfo(
            features=features,
            splits=splits,
            download_size=size,
            dataset_size=facts.bytes,
            config_name=config.name,
        )
    info = DatasetCardData()
    infos.to_dataset_card_data(info)
    worlds = sorted({str(world) for world in sections.world_names(one.ledger)})
    found: dict[str, Any] = {
        "pretty_name": f"{name}: agent trajectories",
        **one.licence,
        "task_categories": ["text-generation"],
        "tags": [
            "agent",
            "tool-use",
            "synthetic",
            *worlds,
            *sorted({config.kind for config in one.configs}),
        ],
        "size_categories": [size_category(sum(facts.rows for facts in one.facts.values()))],
        "configs": [
            {
                "config_name": config.name,
                "data_files": [{"split": "train", "path": list(one.paths[config.name])}],
            }
            | ({"default": True} if at == 0 else {})
            for at, config in enumerate(one.configs)
        ],
        "dataset_info": dict(info.__dict__)["dataset_info"],
    }
    return front_matter(found)


def _what(one: Described, name: str) -> str:
    flow = one.ledger.state.flow or {}
    names = ", ".join(map(in_code, sections.world_names(one.ledger))) or "no world"
    made = (
        f"flow {in_code(name)}, seed {in_cell(str(flow['seed']))}" if "seed" in flow else "no flow"
    )
    traces = (
        f" `traces/` holds {one.traces} of the trajectories behind them as session traces, for "
        "the viewer: a sample for looking at, in no "
        "configuration."
        if one.traces
        else ""
    )
    return (
        f"Trajectories of agents that act with tools in {names}, {_got(one.ledger)} and exported "
        f"by synth {one.version} ({made}, run "
        f"{in_code(one.ledger.state.run_id)}). Every number below is counted in the run's ledger "
        f"or in the rows.{traces}"
    )


def _got(ledger: Ledger) -> str:
    counts = dict(
        sections.asked(ledger, "SELECT stage = 'import', count(*) FROM trajectories GROUP BY ALL")
    )
    if set(counts) == {True, False}:
        return (
            f"collected and tested ({counts[False]:,}) or recorded elsewhere and imported "
            f"({counts[True]:,})"
        )
    return "recorded elsewhere, imported" if True in counts else "collected, tested"


def _configurations(one: Described) -> str:
    rows = []
    for config in one.configs:
        facts, report = one.facts[config.name], config.report
        loss = (
            loss_size(report.get("loss", 0), report.get("loss_unit", "characters"))
            if report["trained_turns"]
            else "-"
        )
        rows.append(
            (
                in_code(config.name),
                config.kind,
                f"{facts.rows:,}",
                f"{report['trained_turns']:,}" if report["trained_turns"] else "-",
                loss,
                config.form,
            )
        )
    table = sections.table(
        ("configuration", "kind", "rows", "turns with loss", "size of what carries loss", "form"),
        rows,
    )
    kinds = {config.kind: kind_of(config.kind) for config in one.configs}
    told = [f"**{name}**: {kind.one_row}" for name, kind in kinds.items()]
    told += [
        f"{in_code(path)}: skill texts that a model distilled from the chains that {lines:,} "
        f"trajectories of {in_code(name)} "
        "end, JSON lines of `trajectory_id`, `task_id`, `skill`, `pdi_index`; part of no row, and "
        "in no configuration."
        for name, (path, lines) in one.skills.items()
    ]
    return table + "\n\n" + "\n\n".join(told)


def _load(one: Described) -> str:
    lines = [
        f"{_variable(config.name)} = load_dataset({_literal(one.repo)}, {_literal(config.name)}, "
        'split="train")'
        for config in one.configs
    ]
    lines += [
        f'{_variable(name)}_skills = load_dataset("json", '
        f'data_files={_literal(f"hf://datasets/{one.repo}/{path}")}, split="train")'
        for name, (path, _) in one.skills.items()
    ]
    return (
        "```python\nfrom datasets import load_dataset  # datasets>=4.7\n\n"
        + "\n".join(lines)
        + "\n```"
    )


def _variable(name: str) -> str:
    return re.sub(r"\W", "_", name, flags=re.ASCII)


def _literal(text: str) -> str:
    """A text as Python code on one line."""
    return json.dumps(text)


def _secrets(searched: Searched) -> str:
    again = "Before the dataset was sent, every text in it was searched once more"
    if not searched.by_filter or searched.settings is None:
        return (
            f"{again}, for all kinds of secrets and personal data that synth knows: none were "
            "found. Patterns miss what they do not know."
        )
    settings = searched.settings
    told = [in_cell(f"looked for {', '.join(settings['find'])}")]
    told += [
        in_cell(f"{key}: {', '.join(settings[key])}")
        for key in ("ignore", "allow", "patterns")
        if settings[key]
    ]
    return (
        f"The filter `secrets` looked through all {searched.trajectories:,} trajectories of the "
        f"run ({'; '.join(told)}); in "
        f"{searched.redacted:,} something was found, and stand-ins of the form "
        f"`[REDACTED:kind:1]` take its place. {again} with the same "
        "settings: nothing was left. Patterns miss what they do not know."
    )


def _remarks(one: Described) -> str:
    parts = []
    for config in one.configs:
        report = config.report
        lines = [note.removeprefix("WARNING: ") for note in report["notes"]]
        lines += (
            [f"left out by the export: {counted(report['left_out'])}"] if report["left_out"] else []
        )
        lines += (
            [f"dropped by filters: {counted(report['filtered'])}"] if report["filtered"] else []
        )
        lines += [
            f"rows by {column}: {counted(c)}"
            for column, c in one.facts[config.name].composition.items()
            if set(c) - {"none"}
        ]
        parts.append(
            f"### {in_markdown(config.name)}\n\n"
            + "\n".join(f"- {in_markdown(line)}" for line in lines)
        )
    return "\n\n".join(parts)


def _training(one: Described) -> str:
    parts = []
    for config in one.configs:
        form = form_of(config.kind, config.form)
        per_turn = form.per_turn is not None and "completion" in one.facts[config.name].schema.names
        chosen = form.per_turn if per_turn and form.per_turn is not None else form
        read_from = f"{_literal(one.repo)}, {_literal(config.name)}"[
            1:-1
        ]  # load_dataset takes both, where the exporter names one folder
        parts.append(f"### {in_markdown(config.name)}\n\n{chosen.training(read_from).strip()}")
    return "\n\n".join(parts)
