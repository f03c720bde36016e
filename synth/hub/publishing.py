"""Publishing a run: what would go out is made and looked through here; nothing is sent before all
of it has passed.
"""

from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from textwrap import shorten

import msgspec

from synth.engine.numbers import counted_noun
from synth.exporters.kinds.sft_rows import sft_row
from synth.exporters.kinds.skills import SKILLS
from synth.exporters.registry import form_of
from synth.hub.card import Described, card
from synth.hub.outgoing import PublishScan, searched
from synth.hub.publication import CARD, File, Publication
from synth.hub.readback import Sent
from synth.hub.released import PublishRequest, metadata, require_released
from synth.hub.row_facts import RowFacts, row_facts
from synth.hub.source import found
from synth.ledger.decisions import with_decisions
from synth.ledger.flow_scan import FlowScan
from synth.ledger.ledger import Ledger
from synth.schemas.canonical import content_hash
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
    ledger: Ledger, wanted: PublishRequest, aside: Path, token: str | None = None
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
    unshown = SetAside()
    shown = traces(ledger, _shown(facts), wanted.traces, unshown)
    for path, blob in shown.items():
        outgoing.search(path, blob.decode())
    shards = {
        c.name: [File(f"{c.name}/{file}", path) for file, path in c.files.items()]
        for c in datasets.configs
    }
    skills = {
        c.name: File(f"{c.name}/{SKILLS}", c.skills.read_bytes())
        for c in datasets.configs
        if c.skills is not None
    }
    for file in skills.values():
        outgoing.search(file.path, _text(file))
    described = Described(
        ledger=ledger,
        repo=wanted.repo,
        licence=_terms(wanted),
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
        traces=tuple(File(path, blob) for path, blob in shown.items()),
        card=File(CARD, text.encode()),
        rows={name: one.rows for name, one in facts.items()},
        licence=_terms(wanted),
        skills=tuple(skills.values()),
    )
    sums = {name: {file.path: file.sha256 for file in files} for name, files in shards.items()}
    sent = {
        name: Sent(one.rows, sum(file.size for file in shards[name]), one.schema, sums[name])
        for name, one in facts.items()
    }
    return PreparedUpload(
        publication, sent, (*datasets.left_out, *(f"traces: {line}" for line in unshown.lines()))
    )


def _without_names(text: str, ledger: Ledger) -> str:
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


def _terms(wanted: PublishRequest) -> dict[str, str]:
    return metadata(wanted.licence, wanted.licence_name, wanted.licence_link)


def _text(file: File) -> str:
    assert isinstance(file.content, bytes)
    return file.content.decode()


def _shown(facts: dict[str, RowFacts]) -> Sequence[str]:
    """Trajectories that rows stand on: of the first configuration that names any."""
    return next((one.identities for one in facts.values() if one.identities), [])


def traces(
    ledger: Ledger, identities: Iterable[str], most: int, aside: SetAside
) -> dict[str, bytes]:
    """Path -> JSON lines, of at most `most` of the trajectories: the first in the order of their
    hashes, redacted as rows are.

    Those that cannot be written are noted in `aside`.
    """
    form = form_of("sft", "sts")
    known = set(identities) & set(ledger.state.current_valid())
    drawn = set(sorted(known, key=lambda identity: content_hash(["trace", identity]))[:most])
    if not drawn:
        return {}
    clean = (trajectory for trajectory, _ in with_decisions(ledger, aside, drawn))
    written = list(
        aside.each(
            clean, lambda one: one.trajectory_id, lambda one: form.record(sft_row(one, form))
        )
    )
    return {
        f"{FOLDER}/{record['name']}": record["text"].encode()
        for record in sorted(written, key=lambda record: record["name"])
    }


def preview(prepared: PreparedUpload, wanted: PublishRequest, say: Callable[[str], None]) -> None:
    """What would go out: files, sizes, rows, and how the card begins."""
    publication = prepared.publication
    account = "" if "/" in wanted.repo else ", in the account whose token sends it"
    licence = (
        wanted.licence
        if wanted.licence_name is None
        else f"{wanted.licence}: {wanted.licence_name}, {wanted.licence_link}"
    )
    say(
        f"repository  {wanted.repo}{account} "
        f"({'PUBLIC: everybody may read it' if wanted.public else 'private'}), licence {licence}"
    )
    for name, rows in publication.rows.items():
        files = [file for file in publication.shards if file.path.startswith(f"{name}/")]
        say(
            f"{name:<11} {counted_noun(rows, 'row')} in {counted_noun(len(files), 'file')}, "
            f"{sum(file.size for file in files):,} bytes"
        )
        for file in files:
            say(f"  {file.path}  {file.size:,} bytes")
    for file in publication.skills:
        say(f"skills      {file.path}  {file.size:,} bytes")
    say(
        f"traces      {counted_noun(len(publication.traces), 'file')}, "
        f"{sum(file.size for file in publication.traces):,} bytes"
    )
    say(
        f"card        {publication.card.path}, {publication.card.size:,} bytes; its metadata, then:"
    )
    body = _text(publication.card).split(_BODY, 1)[1]
    for line in [line for line in body.splitlines() if line and not line.startswith("|")][
        :SHOWN_LINES
    ]:
        say(f"  | {shorten(line, SHOWN_WIDE, placeholder=' ...')}")
    for line in prepared.left_out:
        say(f"left out    {line}")
