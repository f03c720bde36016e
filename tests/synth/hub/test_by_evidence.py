"""Classes of evidence as configurations on the Hub."""

import pytest

from synth.hub.publication import File
from synth.hub.source import Config, by_evidence

DIGEST = "0123456789abcdef-00000.parquet"
SKILLS = File("dpo/skills.jsonl", b"")


def of(*classes: str) -> Config:
    names = [f"train-{one}-{DIGEST}" if one else f"train-{DIGEST}" for one in classes]
    files = {name: File(f"dpo/{name}", b"") for name in names}
    return Config("dpo", "dpo", "trl", files, {}, {}, SKILLS)


@pytest.mark.parametrize(
    ("classes", "expected", "views"),
    [
        ([""], {"dpo": 1}, []),
        (["exact"], {"dpo": 1}, []),
        (["declared"], {"dpo": 1}, []),
        (["exact", "tested"], {"dpo": 2}, ["dpo_exact", "dpo_tested"]),
        (["declared", "tested"], {"dpo": 1, "dpo_declared": 1}, []),
        (["declared", "observed"], {"dpo_declared": 1, "dpo_observed": 1}, []),
    ],
)
def test_what_is_loaded_unasked_is_called_as_its_folder(
    classes: list[str], expected: dict[str, int], views: list[str]
) -> None:
    found = list(by_evidence(of(*classes)))
    assert {one.name: len(one.files) for one in found} == expected
    assert {one.folder for one in found} == {"dpo"}
    assert [name for one in found for name in one.views] == views
    assert [one.skills for one in found] == [SKILLS, None][: len(found)]
