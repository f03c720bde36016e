"""Every kind in every form, from a run like the quickstart and from imported attempts at tau-bench:
rows that are proven, or the reason.
"""

from importlib.util import find_spec
from pathlib import Path

import pytest

from synth.exporters.registry import FORMS, KINDS, form_of
from tests.every_kind.cells import Cell, cell
from tests.random_model import TEMPLATE

pytestmark = pytest.mark.slow
FLAGS = {"quickstart": "--include-scripted", "tau": "--allow-benchmark"}
LABELLED = ("dpo", "kto", "prm", "attribution")
"""They rest on tests that play a world on from a state, which no import can."""
WHY_NOT = {
    # its form of a pair has no place for calls, and every pair here has some
    **{("quickstart", kind, "axolotl"): "axolotl:tool_calls" for kind in ("dpo", "dpo_observed")},
    # these episodes end with a call
    **{("quickstart", "memory", form): "no_answer" for kind, form in FORMS if kind == "memory"},
    # its tasks came without their worlds
    **{("tau", "rl", form): "no_check" for kind, form in FORMS if kind == "rl"},
    **{
        ("tau", kind, form): f"the ledger holds nothing for kind {kind}"
        for kind, form in FORMS
        if kind in LABELLED
    },
}
"""What has no rows, and the reason that the command names."""
LEAST = {("quickstart", "dpo"): 5, ("quickstart", "kto"): 5, ("tau", "memory"): 10}
"""So that a rule which lets hardly anything through is seen; elsewhere one row."""


@pytest.fixture(scope="session")
def student(tmp_path_factory: pytest.TempPathFactory) -> Path | None:
    """A template that marks what the assistant writes, where there is what renders it (`make
    test-train`).
    """
    if find_spec("trl") is None or find_spec("transformers") is None:
        return None
    path = tmp_path_factory.mktemp("student") / "student.jinja"
    path.write_text(TEMPLATE, encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def cells() -> dict[tuple[str, str, str], Cell]:
    """What was found so far; printed by the last test."""
    return {}


@pytest.mark.parametrize(("kind", "form"), list(FORMS))
@pytest.mark.parametrize("source", list(FLAGS))
def test_a_kind_in_a_form_is_proven_or_does_not_apply_for_a_reason_that_is_named(
    source: str,
    kind: str,
    form: str,
    request: pytest.FixtureRequest,
    student: Path | None,
    cells: dict[tuple[str, str, str], Cell],
) -> None:
    run: Path = request.getfixturevalue(source)
    flags = [
        FLAGS[source],
        *(["--join-answers"] if form == "llamafactory" else []),
        *(["--student", str(student)] if student else []),
    ]
    found = cells[source, kind, form] = cell(run, kind, form, *flags)
    assert found.failed == ()
    if why := WHY_NOT.get((source, kind, form)):
        assert (found.rows, found.proven) == (0, ())
        assert found.refused is not None
        assert why in found.left_out or why in found.refused
        return
    assert found.refused is None
    assert found.rows >= LEAST.get((source, kind), 1)
    first, *further = found.proven
    assert (
        f" {found.rows} rows as they were written" in first
        or first == f"{found.rows} files hold what was to be written"
    )
    if student is None:
        return
    if form == "trl" and kind not in ("prm", "rl"):
        assert f"TRL takes all {found.rows} rows for conversations" in further
    if form_of(kind, form).read is not None and kind in ("sft", "memory"):
        assert (
            f"{student}: all {found.rows} rows render, and loss is on what the trained turns "
            "wrote alone" in " ".join(further)
        )


def test_every_kind_has_rows_in_every_form_from_one_of_the_two(
    cells: dict[tuple[str, str, str], Cell], tau: Path
) -> None:
    if len(cells) < len(FLAGS) * len(FORMS):
        pytest.skip("only some of the cells were looked at")
    rows = {
        (kind, form): [cells[source, kind, form].rows for source in FLAGS] for kind, form in FORMS
    }
    print("\n| kind | form | quickstart | tau |\n|---|---|---:|---:|")
    print(
        "\n".join(
            f"| {kind} | {form} | {first} | {second} |"
            for (kind, form), (first, second) in rows.items()
        )
    )
    assert [name for name, counts in rows.items() if not any(counts)] == [("dpo", "axolotl")]
    assert {kind for (kind, _), counts in rows.items() if any(counts)} == set(KINDS)
