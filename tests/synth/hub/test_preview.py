"""What a dry run shows: whose repository, and how the card begins, cut between words."""

from synth.hub.publication import File, Publication
from synth.hub.publishing import SHOWN_WIDE, PreparedUpload, preview
from synth.hub.released import PublishRequest
from synth.ledger.log.verify_written import CARD


def shown(repo: str, body: str) -> list[str]:
    card = File(CARD, f"---\nlicense: mit\n---\n{body}\n".encode())
    said: list[str] = []
    preview(
        PreparedUpload(Publication((), (), card, {}, {"license": "mit"}), {}, ()),
        PublishRequest(repo, "mit"),
        said.append,
    )
    return said


def test_long_lines_of_the_card_are_cut_between_words() -> None:
    (line,) = [line for line in shown("me/set", "trajectories " * 40) if line.startswith("  | ")]
    words = line.removeprefix("  | ").split()
    assert words == ["trajectories"] * (len(words) - 1) + ["..."]
    assert SHOWN_WIDE - len("trajectories ") < len(line.removeprefix("  | ")) <= SHOWN_WIDE


def test_a_name_without_an_account_is_said_to_go_to_the_tokens_own() -> None:
    assert (
        shown("set", "x")[0]
        == "repository  set, in the account whose token sends it (private), licence mit"
    )
    assert shown("me/set", "x")[0] == "repository  me/set (private), licence mit"
