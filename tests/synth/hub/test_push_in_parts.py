"""A publication of several commits: until the last one nothing half loads, and nothing is sent
twice.
"""

from pathlib import Path

import pytest

from synth.schemas.errors import SynthError
from tests.synth.hub.hub_repo import Mishap
from tests.synth.hub.hub_server import Hub
from tests.synth.hub.pushing import COMMIT, REPO, loaded, publication, pushed

pytestmark = pytest.mark.slow
ONE_FILE = (1, 10**9)


def test_a_first_publication_in_parts_does_not_load_before_its_last_part(
    hub: Hub, tmp_path: Path
) -> None:
    wanted = publication(tmp_path, 3, 4, 5)
    for after in (1, 2, 3):
        hub.mishaps = [Mishap(f"^{COMMIT}", 500, times=99, skip=1)]
        with pytest.raises(SynthError, match="HTTP 500"):
            pushed(hub, wanted, retries=0, bounds=ONE_FILE)
        assert len(hub.commits(REPO)) == after
        with pytest.raises((ValueError, FileNotFoundError)):
            loaded(hub, tmp_path / f"main-{after}")
    hub.mishaps = []
    assert pushed(hub, wanted, bounds=ONE_FILE).commits == 1
    assert loaded(hub, tmp_path / "whole") == 12
    assert sum(request.startswith("PUT /blobs") for request in hub.requests.elements()) == 3, (
        "no shard was sent twice"
    )
    assert pushed(hub, wanted, bounds=ONE_FILE).commits == 0


def test_until_the_last_part_of_another_publication_the_one_before_loads_as_it_was(
    hub: Hub, tmp_path: Path
) -> None:
    pushed(hub, publication(tmp_path, 3))
    hub.mishaps = [Mishap(f"^{COMMIT}", 500, times=99, skip=1)]
    with pytest.raises(SynthError, match="HTTP 500"):
        pushed(hub, publication(tmp_path, 6, 7, 8), retries=0, bounds=ONE_FILE)
    assert loaded(hub, tmp_path / "between") == 3
    hub.mishaps = []
    pushed(hub, publication(tmp_path, 6, 7, 8), bounds=ONE_FILE)
    assert loaded(hub, tmp_path / "after") == 21
    assert "sft/train-3-0.parquet" not in hub.repos[REPO].commits[-1]


def test_a_server_that_dies_between_two_commits_is_one_line_and_what_it_had_is_not_sent_again(
    hub: Hub, tmp_path: Path
) -> None:
    wanted = publication(tmp_path, 3, 4, 5)
    hub.mishaps = [Mishap(f"^{COMMIT}", skip=1, after=True, call=hub.close)]
    with pytest.raises(
        SynthError, match=r"cannot be reached .*; nothing is lost: run the same command again"
    ) as stop:
        pushed(hub, wanted, retries=1, bounds=ONE_FILE)
    assert "\n" not in str(stop.value)
    back = Hub()
    try:
        back.repos, back.blobs = hub.repos, hub.blobs
        pushed(back, wanted, bounds=ONE_FILE)
        assert loaded(back, tmp_path / "whole") == 12
        sent = [
            request
            for one in (hub, back)
            for request in one.seen
            if request.startswith("PUT /blobs")
        ]
        assert len(sent) == len(set(sent)) == 3
    finally:
        back.close()


def test_what_an_interrupted_publication_left_is_removed_by_the_next_one(
    hub: Hub, tmp_path: Path
) -> None:
    hub.mishaps = [Mishap(f"^{COMMIT}", 500, times=99, skip=1)]
    with pytest.raises(SynthError, match="HTTP 500"):
        pushed(hub, publication(tmp_path, 6, 7, 8), retries=0, bounds=ONE_FILE)
    hub.mishaps = []
    pushed(hub, publication(tmp_path, 9))
    assert [path for path in hub.repos[REPO].commits[-1] if path.endswith(".parquet")] == [
        "sft/train-9-0.parquet"
    ]
