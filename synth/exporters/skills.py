"""The skill texts of the chains whose successes a data set holds, beside its rows: distilled by a
model role, no part of any row.

Values that filters found to be secret, and what the rules for secrets and personal data find in the
text itself, are taken out.
"""

from collections.abc import Iterable, Iterator

import msgspec

from synth.exporters.control_tokens import tokens_of
from synth.exporters.sft_rows import SftRow
from synth.exporters.tally import ExportCounts
from synth.ledger.ledger import Ledger
from synth.ledger.redactions import found_values
from synth.ledger.typed import read
from synth.ledger.views import connect
from synth.schemas.measures import Text
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


def with_skills(ledger: Ledger, rows: Iterable[SftRow], tally: ExportCounts) -> Iterator[SftRow]:
    """The rows as they are; notes which of those that were written have a skill text."""
    with connect(ledger) as connection:
        known = {
            one
            for (one,) in connection.execute(
                "SELECT subject_id FROM scores WHERE metric = ?", [SKILL]
            ).fetchall()
        }
    taken: set[str] = set()
    if known:
        tally.beside[SKILLS] = lambda: b"".join(
            msgspec.json.encode(one) + b"\n"
            for one in without_control_tokens(skills(ledger, taken), tally)
        )
    for row in rows:
        before = tally.rows
        yield row
        identity = row.trajectory.trajectory_id
        if identity in known and tally.rows > before:
            taken.add(identity)


def without_control_tokens(found: Iterable[Skill], tally: ExportCounts) -> Iterator[Skill]:
    """The skill texts as rows are taken: left out, with other brackets or as they are."""
    tokens = tokens_of(tally)
    for one in found:
        hits = tokens.in_text(one.skill)
        tally.control_tokens.update({f"{tokens.name(token)} in skill" for token in hits})
        if not hits or tally.policy == "keep":
            yield one
        elif tally.policy == "neutralise":
            yield msgspec.structs.replace(one, skill=tokens.neutralised(one.skill))


def skills(ledger: Ledger, wanted: set[str]) -> Iterator[Skill]:
    """Of these trajectories, in the order of their ids."""
    subjects = sorted(wanted)
    index = {row.subject_id: row.value for row in read(ledger, Text, (INDEX,), subjects=subjects)}
    with connect(ledger) as connection:
        sql = "SELECT trajectory_id, task_id FROM trajectories"
        tasks = dict(connection.execute(sql).fetchall())
    values, finder = found_values(ledger, wanted), Finder()
    for row in read(ledger, Text, (SKILL,), subjects=subjects):
        if row.about.text and (identity := row.subject_id) in tasks:
            text = QuotedValues(values.get(identity, {}), finder).out_of(row.about.text)
            yield Skill(identity, tasks[identity], text, index.get(identity))
