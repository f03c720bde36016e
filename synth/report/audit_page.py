"""An audit's report as one HTML page that needs nothing else: no scripts, no fonts, no network."""

from synth.envs.audit.report import Report
from synth.report.templates import rendered


def audit_page(report: Report, command: str) -> str:
    """The whole page; `command` is what gives it again."""
    settings = ", ".join(f"{key} = {value}" for key, value in report.settings.items())
    return rendered(
        "audit.html",
        title=f"Audit of {report.world} {report.version}",
        report=report,
        settings=settings or "the world's own defaults",
        command=command,
        skip="questions",
        style=rendered("page.css"),
        script="",
    )
