"""Publishing a run: what would go out is made and looked through here; nothing is sent before all
of it has passed.
"""

from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec
import pyarrow.parquet as pq

from synth.exporters.kinds.sft_rows import sft_row
from synth.exporters.kinds.skills import SKILLS
from synth.exporters.registry import form_of
from synth.hub.card.card import Described, card
from synth.hub.card.words import written
from synth.hub.outgoing import PublishScan, searched
from synth.hub.publication import CARD, File, Publication
from synth.hub.readback import Sent
from synth.hub.released import PublishRequest, metadata, require_released
from synth.hub.row_facts import RowFacts, row_facts
from synth.hub.source import found
from synth.ledger.decisions import with_decisions
from synth.ledger.flow_scan import FlowScan
from synth.ledger.ledger import StoredLedger
from synth.schemas import content_hash
from synth.set_aside import SetAside
from synth.text.redaction.edits import Mark, without
from synth.text.redaction.findings import found_in
from synth.text.redaction.quoted_values import QuotedValues

SHOWN_LINES, SHOWN_WIDE = 8, 200
"""Of the card, in a dry run."""


FOLDER = "traces"
_BODY = "\n---\n"
"""Ends the metadata of a card."""


class PreparedUpload(msgspec.Struct, frozen=True):
    """A publication, how each configuration must be read back, and what is not in it."""

    publication: Publication
    sent: dict[str, Sent]
    left_out: tuple[str, ...]


def prepare(
    ledger: StoredLedger, wanted: PublishRequest, aside: Path, token: str | None = None
) -> PreparedUpload:
    """Raises `ConfigError` for datasets that do not stand, benchmarks and held-out tasks unasked,
    and anything secret or personal.
    """
    datasets = found(ledger, wanted.kinds, aside)
    by = searched(ledger)
    outgoing = PublishScan(by, token)
    facts = {config.name: row_facts(config, outgoing) for config in datasets.configs}
    for config in datasets.configs:
        require_released(ledger, config, facts[config.name], wanted)

    # texts that stand in no row are searched too, the card last of all
    unshown = SetAside()
    shown = traces(ledger, _shown(facts), wanted.traces, unshown)
    shards, skills = dict[str, tuple[File, ...]](), dict[str, File]()
    for config in datasets.configs:
        name = config.name
        at = config.folder
        shards[name] = tuple(File(f"{at}/{file}", path) for file, path in config.files.items())
        if config.skills is not None:
            skills[name] = File(f"{at}/{SKILLS}", config.skills.read_bytes())
    for file in (*shown, *skills.values()):
        outgoing.search(file.path, _text(file))

    terms = metadata(wanted.licence, wanted.licence_name, wanted.licence_link)
    described = Described(
        ledger=ledger,
        repo=wanted.repo,
        licence=terms,
        configs=datasets.configs,
        facts=facts,
        paths={name: [file.path for file in files] for name, files in shards.items()},
        searched=by,
        traces=len(shown),
        skills={name: (file.path, len(_text(file).splitlines())) for name, file in skills.items()},
        version=version("synth-trajectories"),
    )
    text = _without_names(card(described), ledger)
    outgoing.search(CARD, text)
    outgoing.require_clean()

    publication = Publication(
        shards=tuple(file for files in shards.values() for file in files),
        traces=shown,
        card=File(CARD, text.encode()),
        rows={name: one.rows for name, one in facts.items()},
        licence=terms,
        skills=tuple(skills.values()),
    )
    sent = dict[str, Sent]()
    for config in datasets.configs:
        rows, schema = facts[config.name].rows, facts[config.name].schema
        sent[config.name] = _sent(rows, schema, shards[config.name])
        for name, named in config.views.items():
            viewed = [file for file in shards[config.name] if file.path.split("/")[-1] in named]
            rows = sum(pq.read_metadata(config.files[one]).num_rows for one in named)
            sent[name] = _sent(rows, schema, viewed)
    unwritten = (f"traces: {line}" for line in unshown.lines())
    return PreparedUpload(publication, sent, (*datasets.left_out, *unwritten))


def _sent(rows: int, schema: Any, files: Sequence[File]) -> Sent:
    size = sum(file.size for file in files)
    return Sent(rows, size, schema, {file.path: file.sha256 for file in files})


def _without_names(text: str, ledger: StoredLedger) -> str:
    """The card, where names of models, policies and worlds stand as rows have them: with marks for
    what is secret in them.

    A mark in the metadata, which is YAML, is a plain word.
    """
    finder = FlowScan(ledger).finder
    if finder is None:
        return text
    head, ending, body = text.partition(_BODY)
    head = without(
        head, [Mark(span.start, span.end, "REDACTED") for span in found_in(head, finder)]
    )
    return head + ending + QuotedValues({}, finder).out_of(body)


def _text(file: File) -> str:
    assert isinstance(file.content, bytes)
    return file.content.decode()


def _shown(facts: dict[str, RowFacts]) -> Sequence[str]:
    """Trajectories that rows stand on: of the first configuration that names any."""
    return next((one.identities for one in facts.values() if one.identities), [])


def traces(
    ledger: StoredLedger, identities: Iterable[str], most: int, aside: SetAside
) -> tuple[File, ...]:
    """JSON lines of at most `most` of the trajectories, a file each: the first in the order of
    their hashes, redacted as rows are.

    Those that cannot be written are noted in `aside`.
    """
    form = form_of("sft", "sts")
    known = set(identities) & set(ledger.state.current_valid())
    drawn = set(sorted(known, key=lambda identity: content_hash(["trace", identity]))[:most])
    if not drawn:
        return ()
    clean = (trajectory for trajectory, _ in with_decisions(ledger, aside, drawn))
    records = aside.each(
        clean, lambda one: one.trajectory_id, lambda one: form.record(sft_row(one, form))
    )
    texts = {record["name"]: record["text"] for record in records}
    return tuple(File(f"{FOLDER}/{name}", texts[name].encode()) for name in sorted(texts))


def preview(prepared: PreparedUpload, wanted: PublishRequest, say: Callable[[str], None]) -> None:
    """What would go out: files, sizes, rows, and how the card begins."""
    publication = prepared.publication
    _, body = _text(publication.card).split(_BODY, 1)
    lines = [line for line in body.splitlines() if line and not line.startswith("|")]
    told = written(
        "preview.txt",
        wanted=wanted,
        publication=publication,
        shards={
            name: [file for file in publication.shards if file.path in prepared.sent[name].files]
            for name in publication.rows
        },
        body=lines[:SHOWN_LINES],
        wide=SHOWN_WIDE,
        left_out=prepared.left_out,
    )
    for line in told.splitlines():
        say(line)
