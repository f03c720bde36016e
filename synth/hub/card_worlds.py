"""What the card says of worlds and licences: what stages recorded of those that they played in, and
that nothing is known of imports.
"""

from synth.hub.card_sections import asked, table, world_names
from synth.ledger.ledger import Ledger
from synth.report.funnel_section import reports
from synth.schemas.printable import in_cell, in_code


def worlds(ledger: Ledger) -> str:
    """Each world with version and licence, as the stages that played in it recorded them; of
    imports, what their format tells.
    """
    sql = """SELECT env, stage = 'import', count(*), list(DISTINCT json_extract_string(check_result, '$.version'))
      FROM trajectories WHERE fault IS NULL GROUP BY ALL ORDER BY ALL"""
    tasks = dict(asked(ledger, "SELECT env, count(*) FROM tasks GROUP BY env"))
    rows = []
    for env, imported, count, checks in asked(ledger, sql):
        version, licence = ("not known: imported",) * 2 if imported else _played(ledger, env)
        check = ", ".join(sorted(one for one in checks if one))
        rows.append(
            (env, version, licence, check or "not recorded", f"{tasks.get(env, 0):,}", f"{count:,}")
        )
    return table(
        ("world", "version", "licence", "version of its check", "tasks", "trajectories"), rows
    )


def _played(ledger: Ledger, env: str) -> tuple[str, str]:
    """(versions, licences) of a world whose episodes were played in this run."""
    found = [
        one
        for report in reports(ledger).values()
        for one in report.get("worlds", ())
        if one["env"] == env
    ]
    versions, licences = ({one[key]: None for one in found} for key in ("version", "licence"))
    own = (ledger.state.flow or {}).get("env") or {}
    if not found and env == own.get(
        "name"
    ):  # runs that are older than these records: some stages have it among their settings
        settings = (line.settings.get("world") for line in ledger.state.stages.values())
        versions = dict.fromkeys(sorted({world for world in settings if isinstance(world, str)}))
    return ", ".join(versions) or "not recorded", "; ".join(licences) or "not recorded"


def licences(ledger: Ledger, chosen: str, name: str | None = None, link: str | None = None) -> str:
    """What was chosen for the dataset, and what is known of the licences that it rests on: of
    worlds, and nothing of what was imported.
    """
    which = (
        in_code(chosen)
        if name is None
        else f"{in_code(chosen)}: {in_cell(name)} ({in_cell(link or '')})"
    )
    said = [
        f"{which}, as whoever published the dataset said; synth chose none, and checked no terms "
        "of models or worlds"
    ]
    for env in world_names(ledger):
        licence = _played(ledger, env)[1]
        if licence != "not recorded":
            said.append(f"the world {in_code(env)} says of itself: {in_cell(licence)}")
    sql = """SELECT split_part(source, ':', 1), count(DISTINCT split_part(source, ':', 2)), count(*) FROM trajectories
      WHERE stage = 'import' AND fault IS NULL GROUP BY ALL ORDER BY ALL"""
    for form, files, count in asked(ledger, sql):
        of = f"{files:,} file{'s' if files != 1 else ''}"
        said.append(
            f"**not known**: the licence of {count:,} trajectories imported from {of} in the "
            f"format {in_cell(form or 'not told')}; "
            "imports record none, so whoever publishes them has to know it"
        )
    return "\n".join(f"- {line}." for line in said)
