"""The skill texts of the chains whose successes a data set holds, beside its rows: distilled by a
model role, no part of any row.

Values that filters found to be secret, and what the rules for secrets and personal data find in the
text itself, are taken out.
"""

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from synth.exporters.kinds.control_tokens import tokens_of
from synth.exporters.kinds.sft_rows import SftRow
from synth.exporters.tally import ExportCounts
from synth.ledger.ledger import StoredLedger
from synth.ledger.redactions import found_values
from synth.ledger.typed import read
from synth.schemas import Text
from synth.stats.pdi import INDEX, SKILL
from synth.text.redaction.quoted_values import QuotedValues
from synth.text.secrets.finder import Finder

SKILLS = "skills.jsonl"


class Skill(msgspec.Struct, frozen=True):
    """One line of the file: of which trajectory, the last of its chain; `pdi_index` is null where
    there is none.
    """

    trajectory_id: str
    task_id: str
    skill: str
    pdi_index: float | None


def with_skills(
    ledger: StoredLedger, rows: Iterable[SftRow], tally: ExportCounts
) -> Iterator[SftRow]:
    """The rows as they are; notes which of those that were written have a skill text."""
    known = {row.subject_id for row in read(ledger, Text, (SKILL,))}
    taken: dict[str, str] = {}

    if known:
        tally.beside[SKILLS] = lambda: b"".join(
            msgspec.json.encode(one) + b"\n" for one in skills(ledger, taken, tally)
        )

    # a row that was drawn may still be left out by what writes it
    for row in rows:
        before = tally.rows
        yield row
        one = row.trajectory
        if one.trajectory_id in known and tally.rows > before:
            taken[one.trajectory_id] = one.task_id


def skills(ledger: StoredLedger, taken: Mapping[str, str], tally: ExportCounts) -> Iterator[Skill]:
    """Of these trajectories with their tasks, in the order of their ids; those with control tokens
    as rows are taken: left out, with other brackets or as they are.
    """
    subjects, tokens = sorted(taken), tokens_of(tally)
    index = {row.subject_id: row.value for row in read(ledger, Text, (INDEX,), subjects=subjects)}
    # a skill may quote what was found in the trajectory that it was distilled from
    values, finder = found_values(ledger, set(taken)), Finder()

    for row in read(ledger, Text, (SKILL,), subjects=subjects):
        identity = row.subject_id
        text = QuotedValues(values.get(identity, {}), finder).out_of(row.about.text or "")
        hits = tokens.in_text(text)
        tally.control_tokens.update({f"{tokens.name(token)} in skill" for token in hits})

        if text and not (hits and tally.policy == "drop"):
            text = tokens.neutralised(text) if tally.policy == "neutralise" else text
            yield Skill(identity, taken[identity], text, index.get(identity))
