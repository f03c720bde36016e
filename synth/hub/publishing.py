"""Publishing a run: what would go out is made and looked through here; nothing is sent before all
of it has passed.
"""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import msgspec
import pyarrow.parquet as pq

from synth.exporters.folder.shards import FOLDER
from synth.exporters.kinds.sft_rows import sft_row
from synth.exporters.registry import form_of
from synth.hub.card.card import Described, card
from synth.hub.card.words import written
from synth.hub.outgoing import PublishScan, searched
from synth.hub.publication import File, Publication
from synth.hub.readback import Sent
from synth.hub.released import PublishRequest, require_released
from synth.hub.row_facts import RowFacts, row_facts
from synth.hub.source import found
from synth.ledger.decisions import with_decisions
from synth.ledger.flow_scan import FlowScan
from synth.ledger.ledger import StoredLedger
from synth.ledger.log.verify_written import CARD
from synth.schemas import content_hash
from synth.set_aside import SetAside
from synth.text.redaction.edits import Mark, without
from synth.text.redaction.findings import found_in
from synth.text.redaction.quoted_values import QuotedValues

SHOWN_LINES, SHOWN_WIDE = 8, 200
"""Of the card, in a dry run."""
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
    described = Described(
        ledger, wanted.repo, wanted.terms, datasets.configs, facts, by, len(shown)
    )
    for file in (*shown, *described.skills.values()):
        outgoing.search(file.path, file.text)

    text = _without_names(card(described), ledger)
    outgoing.search(CARD, text)
    outgoing.require_clean()

    return PreparedUpload(
        _publication(described, shown, File(CARD, text.encode())),
        _sent(described),
        (*datasets.left_out, *(f"traces: {line}" for line in unshown.lines())),
    )


def _publication(described: Described, shown: tuple[File, ...], card: File) -> Publication:
    """Everything that is described, with its card."""
    return Publication(
        shards=tuple(file for config in described.configs for file in config.files.values()),
        traces=shown,
        card=card,
        rows={name: facts.rows for name, facts in described.facts.items()},
        licence=described.licence,
        skills=tuple(described.skills.values()),
    )


def _sent(described: Described) -> dict[str, Sent]:
    """How each configuration must be read back, and each class of evidence in it that has a
    name.
    """
    sent = dict[str, Sent]()
    for config in described.configs:
        for name, shards in config.loaded.items():
            files = [config.files[shard] for shard in shards]
            sent[name] = Sent(
                rows=sum(pq.read_metadata(file.content).num_rows for file in files),
                bytes=sum(file.size for file in files),
                schema=described.facts[config.name].schema,
                files={file.path: file.sha256 for file in files},
            )
    return sent


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
    _, body = publication.card.text.split(_BODY, 1)
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
