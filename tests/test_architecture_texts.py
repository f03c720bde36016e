"""Text for people is escaped in one module; commands stand on the public names alone."""

import ast
import re

import synth
from benchmarks.house import sources, top_of
from synth.lazy_names import names_in
from tests.product_files import ROOT, parsed

ESCAPING = "schemas/text/printing.py"


TO_PEOPLE = (
    "ensure_ascii=False",
    "rich.markup",
    "html.escape",
    "from html import",
    "markupsafe",
    'replace("|"',
    'replace("<"',
    "isprintable()",
)
"""What a module does that makes text fit to be shown by its own means."""


TO_FILES_AND_MODELS = {
    "schemas/text/conversation.py",
    "synth/exporters/exact_json.py",
    "synth/exporters/proof/rendered.py",
    "synth/text/transcript/log.py",
    "synth/text/leaks/scan.py",
    "synth/keys/looks.py",
    "synth/models/settings.py",
    "synth/models/local/transformers_chat.py",
    "synth/text/calls/found.py",
    "synth/text/calls/forms/hermes.py",
    "synth/models/replies/reply.py",
    "synth/text/provenance/forms.py",
    "synth/text/layers.py",
    "synth/text/secrets/checks.py",
    "filters/rank_surprisal/decisions.py",
    "synth/hub/sending.py",
}
"""JSON for files and prompts, and questions about keys and addresses: no person is shown any of it.
"""


def test_text_for_people_is_escaped_in_one_module_only() -> None:
    found = {}
    for path in sources():
        name = str(path.relative_to(ROOT))
        if (
            name == ESCAPING
            or name in TO_FILES_AND_MODELS
            or name.startswith(("synth/importers/", "synthesizers/", "envs/mcp/"))
        ):
            continue
        text = path.read_text(encoding="utf-8")
        found[name] = [sign for sign in TO_PEOPLE if sign in text] + re.findall(
            r"def _?(?:escape|cell|printable)\(", text
        )
    assert {name: signs for name, signs in found.items() if signs} == {}


def test_nothing_prints_markup_of_rich_or_yaml_of_its_own() -> None:
    loose = re.compile(r"yaml\.safe_load\(|yaml\.load\(|markup=True|from_markup\(")
    assert [
        str(path.relative_to(ROOT))
        for path in sources()
        if loose.search(path.read_text(encoding="utf-8"))
    ] == []


def test_what_is_printed_by_rich_is_no_markup() -> None:
    """Every `.print` of a text says `markup=False`; what else is printed is a table of `Text`s."""
    for path in sources():
        prints = ".print(" in path.read_text(encoding="utf-8")
        for node in ast.walk(parsed(path)) if prints else ():
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            if node.func.attr == "print":
                printed = ast.unparse(node.args[0])
                tabled = printed == "grid" or ".grid(" in printed
                assert tabled or any(word.arg == "markup" for word in node.keywords), (
                    f"{path}:{node.lineno}"
                )


OF_COMMANDS = {
    "synth": set(synth.__all__),
    "synth.schemas": {
        *synth.__all__,
        "SPACING",
        "ascii_json",
        "between_words",
        "printable",
        "utf16_escapes",
    },
    "synth.keys.looks": {"without_keys"},
}
"""What a command may import beside other commands: the public names, escaping, and what takes keys
out of errors.
"""


def test_commands_stand_on_the_public_names_alone() -> None:
    """A name that begins with an underscore is none."""
    for path in sorted((ROOT / "synth" / "cli").glob("*.py")):
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.Import):
                assert not any(top_of(alias.name) for alias in node.names), path
            elif isinstance(node, ast.ImportFrom) and top_of(node.module or ""):
                names, module = {alias.name for alias in node.names}, node.module or ""
                assert module.startswith("synth.cli") or names <= OF_COMMANDS.get(module, set()), (
                    f"{path}:{node.lineno}: {names} of {module}"
                )


def test_no_name_of_a_package_is_a_module_of_it_too() -> None:
    """Importing `synth.schemas.filter` would make of the function `filter` a module."""
    for package in ("schemas", "synth"):
        folder = ROOT / package
        names = set(names_in(str(folder / "__init__.pyi")))
        assert len(names) > 100
        modules = {path.stem for path in folder.iterdir() if path.suffix in {"", ".py"}}
        assert names & modules == set()
