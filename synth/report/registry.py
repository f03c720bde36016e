"""Sections of the report by name, in the order of the page: `module:attribute`, imported when used."""

SECTIONS: dict[str, str] = {
    "funnel": "synth.report.funnel_section:SECTION",
    "tasks": "synth.report.tasks_section:SECTION",
    "graphs": "synth.report.graphs_section:SECTION",
}
