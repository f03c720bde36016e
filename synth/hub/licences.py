"""The names that the Hub has for licences, and what it asks beside `other`.

The list of its documentation (https://huggingface.co/docs/hub/repositories-licenses) and,
second-hand from public code that keeps that
list, names added since (Llama 3 and later, eupl-1.2, openmdw, ...). The Hub's own validation has
the last word when a dataset is sent.
"""

from difflib import get_close_matches

from synth.schemas.errors import ConfigError

OTHER = "other"
LICENCES = (
    "apache-2.0",
    "mit",
    "openrail",
    "bigscience-openrail-m",
    "creativeml-openrail-m",
    "bigscience-bloom-rail-1.0",
    "bigcode-openrail-m",
    "afl-3.0",
    "artistic-2.0",
    "bsl-1.0",
    "bsd",
    "bsd-2-clause",
    "bsd-3-clause",
    "bsd-3-clause-clear",
    "c-uda",
    "cc",
    "cc0-1.0",
    "cc-by-2.0",
    "cc-by-2.5",
    "cc-by-3.0",
    "cc-by-4.0",
    "cc-by-sa-3.0",
    "cc-by-sa-4.0",
    "cc-by-nc-2.0",
    "cc-by-nc-3.0",
    "cc-by-nc-4.0",
    "cc-by-nd-4.0",
    "cc-by-nc-nd-3.0",
    "cc-by-nc-nd-4.0",
    "cc-by-nc-sa-2.0",
    "cc-by-nc-sa-3.0",
    "cc-by-nc-sa-4.0",
    "cdla-sharing-1.0",
    "cdla-permissive-1.0",
    "cdla-permissive-2.0",
    "wtfpl",
    "ecl-2.0",
    "epl-1.0",
    "epl-2.0",
    "etalab-2.0",
    "eupl-1.1",
    "eupl-1.2",
    "agpl-3.0",
    "gfdl",
    "gpl",
    "gpl-2.0",
    "gpl-3.0",
    "lgpl",
    "lgpl-2.1",
    "lgpl-3.0",
    "isc",
    "h-research",
    "intel-research",
    "lppl-1.3c",
    "ms-pl",
    "apple-ascl",
    "apple-amlr",
    "mpl-2.0",
    "odc-by",
    "odbl",
    "openmdw-1.0",
    "openmdw-1.1",
    "openrail++",
    "osl-3.0",
    "postgresql",
    "ofl-1.1",
    "ncsa",
    "unlicense",
    "zlib",
    "pddl",
    "lgpl-lr",
    "deepfloyd-if-license",
    "fair-noncommercial-research-license",
    "llama2",
    "llama3",
    "llama3.1",
    "llama3.2",
    "llama3.3",
    "llama4",
    "grok2-community",
    "gemma",
    "unknown",
    OTHER,
)


def require_licence(licence: str, name: str | None, link: str | None) -> None:
    """Raises `ConfigError` for a name that the Hub does not have, and for `other` without its name
    and the place of its text.
    """
    if licence not in LICENCES:
        asked = licence.lower()
        near = sorted(
            get_close_matches(asked, LICENCES, n=6, cutoff=0.5),
            key=lambda name: not name.startswith(asked),
        )[:3]
        named = f"nearest: {', '.join(near)}" if near else "for instance apache-2.0, cc-by-4.0"
        raise ConfigError(
            f"--license {licence!r}: is no name that the Hub has for a licence ({named}); what it "
            f"has no name for is --license {OTHER} "
            "--license-name NAME --license-link URL"
        )
    if licence == OTHER and not (name and link):
        raise ConfigError(
            f"--license {OTHER}: the Hub asks which: give --license-name NAME and --license-link "
            "URL, where its text stands"
        )
    if licence != OTHER and (name or link):
        raise ConfigError(
            f"--license-name and --license-link belong to --license {OTHER}; the Hub knows "
            f"{licence} by its name"
        )
    if link and not link.startswith("https://"):
        raise ConfigError(
            f"--license-link {link!r}: give the URL of the licence's text, https://..."
        )


def metadata(licence: str, name: str | None, link: str | None) -> dict[str, str]:
    """How a card tells it to the Hub."""
    known = {"license": licence, "license_name": name, "license_link": link}
    return {key: value for key, value in known.items() if value is not None}
