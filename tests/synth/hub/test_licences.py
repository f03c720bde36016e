"""Licences under the Hub's names: an unknown one is refused before anything is looked at, and
`other` is told in full.
"""

from pathlib import Path

import pytest
import yaml

from synth.hub.publication import File, Publication
from synth.hub.released import PublishRequest, require_licence
from synth.ledger import StoredLedger
from synth.ledger.log.verify_written import CARD
from synth.schemas.errors import ConfigError
from tests.synth.hub.sections import section

URL = "https://example.org/terms"


@pytest.mark.parametrize(
    "licence", ["apache-2.0", "mit", "cc-by-4.0", "llama3.1", "openrail++", "unknown"]
)
def test_names_that_the_hub_has(licence: str) -> None:
    require_licence(licence, None, None)


@pytest.mark.parametrize(
    ("licence", "name", "link", "message"),
    [
        (
            "apache-2",
            None,
            None,
            "--license 'apache-2': is no name that the Hub has for a licence (nearest: apache-2.0",
        ),
        ("Apache-2.0", None, None, "nearest: apache-2.0"),
        ("cc-by", None, None, "nearest: cc-by-"),
        ("", None, None, "for instance apache-2.0"),
        ("other", None, None, "give --license-name NAME and --license-link URL"),
        ("other", "mine", None, "give --license-name NAME and --license-link URL"),
        ("other", "mine", "LICENSE", "give the URL of the licence's text"),
        ("mit", "mine", URL, "belong to --license other"),
    ],
)
def test_what_the_hub_would_refuse_or_ask_for_is_one_line(
    licence: str, name: str | None, link: str | None, message: str
) -> None:
    with pytest.raises(ConfigError) as error:
        require_licence(licence, name, link)
    assert message in str(error.value)


def test_a_licence_of_ones_own_is_told_in_metadata_text_and_in_the_card_of_what_is_not_whole(
    tmp_path: Path,
) -> None:
    told = PublishRequest("me/set", "other", licence_name="my: terms", licence_link=URL).terms
    assert told == {"license": "other", "license_name": "my: terms", "license_link": URL}
    ledger = StoredLedger(str(tmp_path / "run"), create=True)
    assert f"`other`: my: terms (`{URL}`), as whoever" in section(ledger, "Licence", licence=told)
    begun = Publication((), (), File(CARD, b""), {}, told).placeholder()
    assert told.items() <= yaml.safe_load(begun.split("---\n")[1]).items()
