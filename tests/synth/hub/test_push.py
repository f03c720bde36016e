"""Bringing a publication to a Hub that misbehaves: few commits, nothing twice, never half a dataset
that loads.
"""

import time
from pathlib import Path

import pytest

from synth.hub.client import Hub as Client
from synth.hub.publication import LIST
from synth.hub.push import Pushed, push
from synth.ledger.log.verify_written import CARD
from synth.schemas.errors import ConfigError, SynthError
from tests.synth.hub.hub_repo import Mishap, Repo
from tests.synth.hub.hub_server import TOKEN, Hub
from tests.synth.hub.pushing import COMMIT, REPO, loaded, publication, pushed

pytestmark = pytest.mark.slow


def test_a_first_publication_is_one_commit_to_a_private_repository(
    hub: Hub, tmp_path: Path
) -> None:
    wanted = publication(tmp_path, 3, 4)
    assert pushed(hub, wanted) == Pushed(hub.repos[REPO].head, 1, True)
    head = hub.repos[REPO].commits[-1]
    assert set(head) == {
        ".gitattributes",
        CARD,
        LIST,
        "SHA256SUMS",
        "sft/train-3-0.parquet",
        "sft/train-4-1.parquet",
        "traces/a.jsonl",
    }
    assert head["sft/train-3-0.parquet"] == (tmp_path / "train-3-0.parquet").read_bytes()
    assert hub.commits(REPO) == ["Publish sft"]
    assert hub.repos[REPO].private


def test_the_same_content_again_makes_no_commit_and_sends_no_file(hub: Hub, tmp_path: Path) -> None:
    pushed(hub, publication(tmp_path, 3))
    before = hub.requests.copy()
    assert pushed(hub, publication(tmp_path, 3)).commits == 0
    sent = [request for request in hub.requests - before if request.startswith(("PUT", "POST"))]
    assert sent == []


def test_another_content_replaces_what_synth_wrote_and_leaves_what_others_added(
    hub: Hub, tmp_path: Path
) -> None:
    pushed(hub, publication(tmp_path, 3))
    hub.repos[REPO].commits[-1]["notes.txt"] = b"of a colleague"
    assert pushed(hub, publication(tmp_path, 5)).commits == 1
    head = hub.repos[REPO].commits[-1]
    assert {path for path in head if path.endswith(".parquet")} == {"sft/train-5-0.parquet"}
    assert head["notes.txt"] == b"of a colleague"


REQUESTS = ("POST /api/repos/create", COMMIT, "GET /api/datasets/me/set/tree")


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        ("PUT /blobs", 500),
        *((request, status) for request in REQUESTS for status in (500, 503, 429)),
    ],
)
def test_trouble_that_passes_costs_no_second_commit(
    hub: Hub, tmp_path: Path, status: int, request_: str
) -> None:
    hub.mishaps = [Mishap(f"^{request_}", status)]
    assert pushed(hub, publication(tmp_path, 3)).commits == 1
    assert hub.commits(REPO) == ["Publish sft"]


def test_a_server_that_asks_to_wait_is_waited_for(hub: Hub, tmp_path: Path) -> None:
    hub.mishaps = [Mishap(f"^{COMMIT}", 429, {"Retry-After": "1"})]
    said: list[str] = []
    begin = time.monotonic()
    pushed(hub, publication(tmp_path, 3), said)
    assert time.monotonic() - begin >= 1.0
    assert any(line.startswith("commit: HTTP 429; trying again in 1.0 s") for line in said), said


@pytest.mark.parametrize("request_", [COMMIT, "PUT /blobs", "POST /api/datasets/me/set/preupload"])
def test_a_server_that_asks_to_wait_for_an_hour_is_not_waited_for(
    hub: Hub, tmp_path: Path, request_: str
) -> None:
    hub.mishaps = [Mishap(f"^{request_}", 429, {"Retry-After": "3600"})]
    with pytest.raises(
        SynthError, match=r"commit: HTTP 429.*asks to wait 3600 s; what was sent is kept"
    ) as stop:
        pushed(hub, publication(tmp_path, 3))
    assert TOKEN not in str(stop.value)
    assert sum(request.startswith(request_) for request in hub.seen) == 1


def test_trouble_that_stays_ends_after_a_bounded_number_of_tries(hub: Hub, tmp_path: Path) -> None:
    hub.mishaps = [Mishap(f"^{COMMIT}", 500, times=99)]
    with pytest.raises(SynthError, match="commit: HTTP 500"):
        pushed(hub, publication(tmp_path, 3))
    assert sum(request.startswith(COMMIT) for request in hub.seen) == 5


def test_an_upload_that_fails_for_good_is_one_line_and_not_sent_as_a_commit(
    hub: Hub, tmp_path: Path
) -> None:
    hub.mishaps = [Mishap("^PUT /blobs", 403, times=99)]
    with pytest.raises(ConfigError, match=r"commit: HTTP 403: the token may not do this"):
        pushed(hub, publication(tmp_path, 3))
    assert hub.commits(REPO) == []


def test_a_connection_cut_in_the_middle_of_an_upload_is_made_again(
    hub: Hub, tmp_path: Path
) -> None:
    hub.mishaps = [Mishap("^PUT /blobs"), Mishap(f"^{COMMIT}")]
    assert pushed(hub, publication(tmp_path, 3000)).commits == 1
    assert hub.commits(REPO) == ["Publish sft"]
    assert loaded(hub, tmp_path / "main") == 3000


def test_a_commit_whose_answer_was_lost_is_not_made_twice(hub: Hub, tmp_path: Path) -> None:
    hub.mishaps = [Mishap(f"^{COMMIT}", after=True)]
    pushed(hub, publication(tmp_path, 3))
    assert hub.commits(REPO) == ["Publish sft"]


@pytest.mark.parametrize("status", [409, 412])
def test_a_commit_of_somebody_else_in_between_is_looked_at_and_kept(
    hub: Hub, tmp_path: Path, status: int
) -> None:
    pushed(hub, publication(tmp_path, 3))

    def colleague() -> None:
        repo = hub.repos[REPO]
        repo.commits.append({**repo.commits[-1], "notes.txt": b"mine"})
        repo.messages.append("notes")

    hub.mishaps = [
        Mishap(f"^{COMMIT}", None if status == 412 else 409, call=colleague)
    ]  # the server answers 412 by itself
    said: list[str] = []
    pushed(hub, publication(tmp_path, 5), said)
    assert hub.commits(REPO) == ["Publish sft", "notes", "Publish sft"]
    assert hub.repos[REPO].commits[-1]["notes.txt"] == b"mine"
    assert any("changed meanwhile" in line for line in said)


def test_others_who_never_stop_committing_end_it_with_a_line(hub: Hub, tmp_path: Path) -> None:
    hub.mishaps = [Mishap(f"^{COMMIT}", 412, times=99)]
    with pytest.raises(SynthError, match="others committed to it 5 times meanwhile"):
        pushed(hub, publication(tmp_path, 3))


def test_bytes_that_did_not_arrive_as_they_were_sent_are_an_error(hub: Hub, tmp_path: Path) -> None:
    hub.stored = lambda path, sent: sent[:-1] + b"x"
    with pytest.raises(
        SynthError,
        match=r"me/set: sft/train-3-0\.parquet does not lie there as it was sent \(1 such files\)",
    ):
        pushed(hub, publication(tmp_path, 3))
    hub.stored = lambda path, sent: sent
    assert pushed(hub, publication(tmp_path, 3)).commits == 1


def test_a_repository_of_others_is_not_touched(hub: Hub, tmp_path: Path) -> None:
    hub.repos[REPO] = Repo(private=True)
    hub.repos[REPO].commits[-1][CARD] = b"---\nlicense: mit\n---\nby hand"
    with pytest.raises(
        ConfigError,
        match=r"me/set: holds README\.md, which synth did not write; choose another name",
    ):
        pushed(hub, publication(tmp_path, 3))
    assert hub.commits(REPO) == []


def test_a_card_that_was_edited_on_the_hub_is_replaced_only_when_told(
    hub: Hub, tmp_path: Path
) -> None:
    pushed(hub, publication(tmp_path, 3))
    hub.repos[REPO].commits[-1][CARD] += b"and a remark"
    with pytest.raises(
        ConfigError, match=r"README\.md was edited there since synth wrote it.*--overwrite"
    ):
        pushed(hub, publication(tmp_path, 5))
    pushed(hub, publication(tmp_path, 5), overwrite=True)
    assert not hub.repos[REPO].commits[-1][CARD].endswith(b"remark")


def test_a_public_repository_is_not_written_to_unasked(hub: Hub, tmp_path: Path) -> None:
    hub.repos[REPO] = Repo(private=False)
    with pytest.raises(ConfigError, match="is public already; give --public"):
        pushed(hub, publication(tmp_path, 3))
    assert pushed(hub, publication(tmp_path, 3), public=True).private is False


def test_an_account_that_may_not_write_there_is_one_line(hub: Hub, tmp_path: Path) -> None:
    client = Client(TOKEN, lambda line: None, endpoint=hub.url)
    with pytest.raises(
        ConfigError, match="HTTP 403: the token may not do this: it needs write access"
    ):
        push(
            client,
            "others/set",
            publication(tmp_path, 3),
            public=False,
            overwrite=False,
        )
