"""The whole mission with a real language model in every role: SmolLM2-135M, `make real-model`."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.real_model.__main__ import played
from benchmarks.real_model.mission import AGAIN, FULL, WORLDS, World, settings
from benchmarks.real_model.table import KINDS, Row, lines, missed
from synth import check_flow
from synth.schemas import read_yaml

ROW = Row(
    world="storeroom",
    trials=20,
    solved=5,
    episodes=70,
    faults=0,
    asked={
        "writer (write_goal)": (4, 4),
        "reflector (reflection)": (15, 3),
        "injector (inject)": (2, 0),
        "corrector (correct)": (5, 1),
        "judge (rubric)": (40, 0),
        "judge (leaks)": (8, 0),
        "skill_writer (skill)": (3, 0),
    },
    tokens=123_456,
    seconds=99.6,
    rows=dict.fromkeys(KINDS, 2),
    measured={"rsr": 5},
    judge="finds 0 of 4 planted leaks, and sees one in 0 of 4 harmless turns",
)


@pytest.mark.parametrize("world", [*WORLDS, AGAIN], ids=lambda world: world.name)
def test_each_world_is_a_run_of_the_file_itself_with_every_role_played_by_the_model(
    world: World,
) -> None:
    given = settings(world, "http://127.0.0.1:1/v1")
    stages = check_flow(FULL, set=given).stages
    assert ("critical_step" in stages) is world.name.startswith("storeroom")
    assert given["models"].keys() == read_yaml(FULL.read_text(), "full")["models"].keys()
    assert {role["model"] for role in given["models"].values()} == {"smollm2-135m"}
    assert given["models"]["explorer"]["extra_body"] == {"tool_choice": "required"}
    assert "extra_body" not in given["models"]["judge"]


def test_the_table_has_a_row_a_world_and_says_what_was_not_read() -> None:
    head, rule, row, *rest = lines([ROW])
    assert head.count("|") == rule.count("|") == row.count("|")
    assert row == (
        "| storeroom | 20 | 5 (9 to 49 %) | 70 | 0 | 123,456 | 100 | 2 | 2 | 2 | 2 | 2 | 2 |"
    )
    assert rest == [
        "",
        "storeroom: unreadable or refused: writer (write_goal) 4 of 4, reflector (reflection) 3 of "
        "15, injector (inject) 0 of 2, corrector (correct) 1 of 5, judge (rubric) 0 of 40, judge "
        "(leaks) 0 of 8, skill_writer (skill) 0 of 3",
        "storeroom: measured: rsr 5",
        "storeroom: the judge of leaks finds 0 of 4 planted leaks, and sees one in 0 of 4 harmless "
        "turns",
    ]


def test_rows_roles_and_solved_trials_are_asked_for_over_all_worlds() -> None:
    none = replace(ROW, world="storefront", solved=0, rows=dict.fromkeys(KINDS, 0))
    assert missed([ROW, none]) == []
    assert missed([none]) == [
        *(f"no row of kind {kind} over all worlds" for kind in KINDS),
        "no trial was solved in any world",
    ]
    assert missed([replace(none, rows={**ROW.rows, "attribution": 0}, solved=1)]) == [
        "no row of kind attribution over all worlds"
    ]
    assert missed([none, ROW]) == []  # played once more, and found
    few = {"judge (rubric)": (40, 0), "writers (write_goal)": (1, 0)}
    assert missed([replace(ROW, asked=few)]) == [
        "nobody was asked as writer",
        "nobody was asked as reflector",
        "nobody was asked as injector",
        "nobody was asked as corrector",
        "nobody was asked as judge (leaks)",
    ]
    assert missed([replace(ROW, faults=1)]) == ["storeroom: 1 trials are faults"]


@pytest.mark.real_model
def test_a_model_of_135m_parameters_plays_the_whole_mission(tmp_path: Path) -> None:
    python, model = os.environ.get("SYNTH_VLLM_PYTHON"), os.environ.get("SYNTH_SMALL_MODEL")
    if not python or not model:
        pytest.skip("the model and its server are made by `make real-model`")
    rows = played(Path(python), Path(model), tmp_path)
    print("\n" + "\n".join(lines(rows)))
    assert missed(rows) == []
    assert all(one.asked for one in rows)
