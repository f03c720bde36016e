"""What the card says of worlds, licences and limits: what stages recorded, and that nothing is known
of imports.
"""

from collections.abc import Mapping

from synth.hub.card_sections import asked, bullets, table, world_names
from synth.hub.row_facts import RowFacts
from synth.ledger.ledger import Ledger
from synth.report.sections.funnel import reports
from synth.schemas.printable import Marked, in_cell, in_code

_WORLDS = """SELECT env, stage = 'import', format('{:,}', count(*)),
    array_to_string(list_sort(list(DISTINCT json_extract_string(check_result, '$.version'))), ', ')
  FROM trajectories WHERE fault IS NULL GROUP BY ALL ORDER BY ALL"""
_SOURCES = """SELECT split_part(source, ':', 1), count(DISTINCT split_part(source, ':', 2)), count(*) FROM trajectories
  WHERE stage = 'import' AND fault IS NULL GROUP BY ALL ORDER BY ALL"""


def limits(ledger: Ledger, facts: Mapping[str, RowFacts]) -> str:
    """What the dataset does not show."""
    sql = "count(DISTINCT task_id), count(DISTINCT env) FROM trajectories WHERE fault IS NULL"
    ((tasks, count),) = asked(ledger, f"SELECT {sql}")
    lines = {
        f"{tasks:,} tasks in {count} world{'s' if count != 1 else ''}: what is learnt may not "
        "carry over to others": True,
        "a check says that the goal was reached, not that every step on the way was "
        "justified": True,
        "rows written by scripts have the narrow wording of a program; no language model wrote "
        "them": any(found.scripted for found in facts.values()),
        "rows with `gold_informed` show what guidance that knew the answer led to": any(
            found.gold_informed for found in facts.values()
        ),
        "whether training on these rows helps was not measured in this run": True,
    }
    return bullets(line for line, holds in lines.items() if holds)


def worlds(ledger: Ledger) -> str:
    """Each world with version and licence, as the stages that played in it recorded them; of
    imports, what their format tells.
    """
    tasks = dict(asked(ledger, "SELECT env, format('{:,}', count(*)) FROM tasks GROUP BY env"))
    rows = []
    for env, imported, count, checks in asked(ledger, _WORLDS):
        told = ("not known: imported",) * 2 if imported else _played(ledger, env)
        rows.append((env, *told, checks or "not recorded", tasks.get(env, "0"), count))
    columns = ("world", "version", "licence", "version of its check", "tasks", "trajectories")
    return table(columns, rows)


def _played(ledger: Ledger, env: str) -> tuple[str, str]:
    """(versions, licences) of a world whose episodes were played in this run."""
    told = [one for report in reports(ledger).values() for one in report.get("worlds", ())]
    found = [one for one in told if one["env"] == env]
    versions, licences = ({one[key]: None for one in found} for key in ("version", "licence"))
    own = (ledger.state.flow or {}).get("env") or {}
    if not found and env == own.get("name"):  # runs that are older than these records
        settings = (line.settings.get("world") for line in ledger.state.stages.values())
        versions = dict.fromkeys(sorted({world for world in settings if isinstance(world, str)}))
    return ", ".join(versions) or "not recorded", "; ".join(licences) or "not recorded"


def licences(ledger: Ledger, chosen: str, name: str | None = None, link: str | None = None) -> str:
    """What was chosen for the dataset, and what is known of the licences that it rests on: of
    worlds, and nothing of what was imported.
    """
    own = "" if name is None else f": {in_cell(name)} ({in_cell(link or '')})"
    said = [
        f"{in_code(chosen)}{own}, as whoever published the dataset said; synth chose none, and "
        "checked no terms of models or worlds"
    ]
    terms = {env: _played(ledger, env)[1] for env in world_names(ledger)}
    said += [
        f"the world {in_code(env)} says of itself: {in_cell(licence)}"
        for env, licence in terms.items()
        if licence != "not recorded"
    ]
    said += [
        f"**not known**: the licence of {count:,} trajectories imported from {number:,} "
        f"file{'s' if number != 1 else ''} in the format {in_cell(form or 'not told')}; imports "
        "record none, so whoever publishes them has to know it"
        for form, number, count in asked(ledger, _SOURCES)
    ]
    return bullets(map(Marked, said))
