"""How the project's pages look: light and dark by the reader's own setting or a page's own switch,
readable on paper.
"""


def themed(light: str, dark: str) -> str:
    """Custom properties for both: dark where the reader's system is, unless the page is switched
    (`data-theme` on the root).
    """
    return f"""
:root {{{light} }}
@media (prefers-color-scheme: dark) {{ :root:not([data-theme="light"]) {{{dark} }} }}
:root[data-theme="dark"] {{{dark} }}
"""


_LIGHT = """
  --page: #fbfbf9; --card: #ffffff; --ink: #1d2327; --quiet: #5b6670; --line: #dcdfe2; --stripe: #f5f6f6;
  --pass: #1a6b3c; --pass-back: #e3f3e9; --fail: #a61b1b; --fail-back: #fbe6e4; --none: #56616b; --none-back: #eceeef; --link: #14538f;
  --warn: #7a4b00; --warn-back: #fdf0d5; --accent: #14538f; --accent-back: #e4eef8; --changed: #ffe08a;
"""
_DARK = """
  --page: #15181b; --card: #1c2024; --ink: #e6e8ea; --quiet: #a0a9b1; --line: #343a40; --stripe: #22272b;
  --pass: #7ed6a0; --pass-back: #17301f; --fail: #ff9d94; --fail-back: #3b1a19; --none: #aab3ba; --none-back: #2a2f34; --link: #8cc0f5;
  --warn: #f0c674; --warn-back: #3a2d12; --accent: #8cc0f5; --accent-back: #1b2c3d; --changed: #6b5310;
"""
STYLE = (
    themed(f"color-scheme: light;{_LIGHT}", f"color-scheme: dark;{_DARK}")
    + """
* { box-sizing: border-box; }
html { scroll-behavior: smooth; }
@media (prefers-reduced-motion: reduce) { html { scroll-behavior: auto; } }
body { margin: 0; background: var(--page); color: var(--ink); font: 16px/1.55 system-ui, "Segoe UI", Roboto, "Noto Sans", sans-serif; }
main { max-width: 60rem; margin: 0 auto; padding: 2.5rem 1.25rem 4rem; }
a { color: var(--link); }
:is(a, summary, .scroll, button, input, select):focus-visible { outline: 3px solid var(--link); outline-offset: 2px; border-radius: 3px; }
.skip { position: absolute; left: -999rem; }
.skip:focus { left: 1rem; top: .5rem; background: var(--card); padding: .4rem .8rem; }
h1 { font-size: 1.75rem; line-height: 1.2; margin: 0 0 .25rem; }
h2 { font-size: 1.15rem; margin: 0; display: flex; gap: .75rem; align-items: center; }
h2 .took { margin-left: auto; font-weight: 400; }
h3 { font-size: .95rem; margin: 1.25rem 0 .4rem; }
p { margin: .4rem 0; max-width: 46rem; }
code { font: .9em/1.5 ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; overflow-wrap: anywhere; }
.quiet, .took { color: var(--quiet); font-size: .9rem; }
.verdict { margin: 1.25rem 0 2rem; padding: .9rem 1.1rem; border-left: 5px solid; border-radius: 4px; font-size: 1.05rem; max-width: none; }
.notice { margin: .6rem 0; padding: .6rem .9rem; border-left: 5px solid var(--warn); border-radius: 4px; color: var(--warn);
  background: var(--warn-back); max-width: none; }
abbr[title] { text-decoration: underline dotted; text-underline-offset: 3px; cursor: help; }
.verdict.pass { border-color: var(--pass); background: var(--pass-back); }
.verdict.fail { border-color: var(--fail); background: var(--fail-back); }
.mark { display: inline-block; min-width: 6.4rem; padding: .05rem .6rem; border-radius: 1rem; font-size: .85rem;
  font-weight: 600; text-align: center; white-space: nowrap; }
.mark.pass { color: var(--pass); background: var(--pass-back); }
.mark.fail { color: var(--fail); background: var(--fail-back); }
.mark.none { color: var(--none); background: var(--none-back); }
section { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 1.1rem 1.25rem; margin: 1.1rem 0; }
section.fail { border-color: var(--fail); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; }
caption { text-align: left; color: var(--quiet); padding: 0 0 .35rem; }
th, td { text-align: left; vertical-align: top; padding: .34rem .8rem .34rem .5rem; border-bottom: 1px solid var(--line);
  overflow-wrap: break-word; }
th { font-weight: 600; white-space: nowrap; }
tbody tr:nth-child(even) { background: var(--stripe); }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
table.fixed { table-layout: fixed; min-width: 24rem; }
table.fixed th:nth-child(1) { width: 14.5rem; }
table.fixed th:nth-child(2) { width: 8.5rem; }
.overview th:nth-child(1), .overview td:nth-child(1) { white-space: nowrap; }
td { max-width: 28rem; }
summary { cursor: pointer; color: var(--link); margin-top: .75rem; }
.table { margin-top: 1rem; }
footer { margin-top: 2.5rem; color: var(--quiet); font-size: .9rem; }
@media (max-width: 34rem) { h2 { flex-wrap: wrap; } .took { margin-left: 0; } main { padding: 1.25rem .8rem 3rem; }
  section { padding: .9rem .8rem; } .mark { min-width: 0; } th, td { padding: .34rem .35rem; } table.fixed { min-width: 0; }
  table.fixed th { white-space: normal; } table.fixed th:nth-child(1) { width: 6.8rem; } table.fixed th:nth-child(2) { width: 5.9rem; } }
@media print { body { background: none; } section { break-inside: avoid; } }
"""
)
