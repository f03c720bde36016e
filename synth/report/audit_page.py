"""An audit's report as one HTML page that needs nothing else: no scripts, no fonts, no network."""

from collections.abc import Sequence

from synth.envs.audit.report import AuditAnswer, Report
from synth.envs.conformance.finding import QuestionFinding
from synth.report.html import document
from synth.schemas.printable import in_html

_CLASSES = {True: "pass", False: "fail", None: "none"}
_MARKS = {True: "✓ passed", False: "✗ failed", None: "– not asked"}
LONGEST_OVERVIEW = 170


def audit_page(report: Report, command: str) -> str:
    """The whole page; `command` is what gives it again."""
    title = f"Audit of {report.world} {report.version}"
    settings = (
        ", ".join(f"{key} = {value}" for key, value in report.settings.items())
        or "the world's own defaults"
    )
    return document(
        title,
        [
            f'<p class="quiet">{report.tasks} tasks from seed {report.seed}; settings: '
            f"{in_html(settings)}; licence: ",
            f"{in_html(report.licence)}</p>",
            f'<p class="verdict {"fail" if report.failed else "pass"}" '
            f'role="status">{in_html(report.verdict)}</p></header>',
            _overview(report.answers),
            '<div id="questions">',
            *(_section(answer) for answer in report.answers),
            "</div>",
            f"<footer><p>Made by <code>{in_html(command)}</code>. What each question means: "
            "docs/audit.md.</p></footer>",
        ],
        skip=("questions", "Skip to the questions"),
    )


def _overview(answers: Sequence[AuditAnswer]) -> str:
    """Every question in a line, linked to its section."""
    rows = "".join(
        f'<tr><td><a href="#{in_html(answer.name)}">{in_html(answer.name)}</a></td>'
        f"<td>{_mark(answer.passed)}</td><td>{in_html(_short(answer.result))}</td></tr>"
        for answer in answers
    )
    head = (
        '<tr><th scope="col">question</th><th scope="col">answer</th><th '
        'scope="col">result</th></tr>'
    )
    return (
        '<nav aria-label="Questions" class="scroll"><table '
        f'class="overview"><thead>{head}</thead><tbody>{rows}</tbody></table></nav>'
    )


def _section(answer: AuditAnswer) -> str:
    """One question: what was asked, what came of each part, and the evidence; open where it
    failed.
    """
    opened = " open" if answer.passed is False else ""
    evidence = "".join(table.html() for table in answer.tables)
    if evidence:
        summary = (
            "<summary>Evidence: "
            f"{in_html('; '.join(found.title for found in answer.tables))}</summary>"
        )
        evidence = f"<details{opened}>{summary}{evidence}</details>"
    name = in_html(answer.name)
    parts = "".join(_part(finding) for finding in answer.findings)
    head = (
        '<tr><th scope="col">part</th><th scope="col">answer</th><th scope="col">what was '
        "found</th></tr>"
    )
    return (
        f'<section id="{name}" class="{_CLASSES[answer.passed]}" aria-labelledby="{name}-title">'
        f'<h2 id="{name}-title">{name} {_mark(answer.passed)} <span '
        f'class="took">{answer.seconds:.1f} s</span></h2>'
        f"<p>{in_html(answer.asked)}</p>"
        '<div class="scroll table"><table '
        f'class="fixed"><thead>{head}</thead><tbody>{parts}</tbody></table></div>{evidence}</section>'
    )


def _part(finding: QuestionFinding) -> str:
    detail = in_html(finding.detail) or '<span class="quiet">as it should be</span>'
    return f"<tr><td>{in_html(finding.name.replace('_', ' '))}</td><td>{_mark(finding.passed)}</td><td>{detail}</td></tr>"


def _mark(passed: bool | None) -> str:
    return f'<span class="mark {_CLASSES[passed]}">{_MARKS[passed]}</span>'


def _short(text: str) -> str:
    """The first part of a result, for the overview."""
    return (
        text if len(text) <= LONGEST_OVERVIEW else f"{text[:LONGEST_OVERVIEW].rsplit(' ', 1)[0]} …"
    )
