"""Sections of the report by name, in the order of the page: `module:attribute`, imported when
used.
"""

SECTIONS: dict[str, str] = {
    "funnel": "synth.report.funnel_section:SECTION",
    "methods": "synth.report.methods_section:SECTION",
    "tasks": "synth.report.tasks_section:SECTION",
    "faults": "synth.report.faults_section:SECTION",
    "cost": "synth.report.cost_section:SECTION",
    "selection": "synth.report.selection_section:SECTION",
    "scores": "synth.report.scores_section:SECTION",
    "agreement": "synth.report.agreement_section:SECTION",
    "graphs": "synth.report.graphs_section:SECTION",
    "trajectories": "synth.report.browser.section:SECTION",
}
