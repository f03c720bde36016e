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
from synth.ledger.views import connect
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
    sql = f"""SELECT s.subject_id, t.task_id, s.detail->>'$.text', i.value
        FROM scores s JOIN trajectories t ON t.trajectory_id = s.subject_id
        LEFT JOIN scores i ON i.subject_id = s.subject_id AND i.metric = '{INDEX}'
        WHERE s.metric = '{SKILL}' AND s.subject_id IN (SELECT unnest(?)) ORDER BY ALL"""
    with connect(ledger) as connection:
        found = connection.execute(sql, [sorted(wanted)]).fetchall()
    values, finder = found_values(ledger, wanted), Finder()
    for identity, task, text, index in found:
        if text:
            yield Skill(
                identity, task, QuotedValues(values.get(identity, {}), finder).out_of(text), index
            )
