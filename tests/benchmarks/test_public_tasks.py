"""Tasks of public benchmarks are told by repository and by id."""

import msgspec

from benchmarks.repo.public_tasks import found_in, named_in
from tests.envs.repo.tiny import BROKEN, LIBRARY


def test_a_library_of_a_benchmark_is_found_by_its_repository() -> None:
    flask = msgspec.structs.replace(LIBRARY, about={"repository": "Pallets/Flask"})
    assert (found_in(LIBRARY), found_in(flask)) == (None, "swe_bench")


def test_a_library_is_found_by_ids_that_name_it() -> None:
    mine = msgspec.structs.replace(LIBRARY, about={"repository": "me/tiny"})
    assert found_in(mine, ["you__tiny-1", "me__tiny-12"]) == "me__tiny-12"


def test_a_task_that_names_an_instance_is_found() -> None:
    task = BROKEN["compared"]
    told = msgspec.structs.replace(task, about={"from": "django__django-1234"})
    assert named_in([task, told]) == [told.id]
