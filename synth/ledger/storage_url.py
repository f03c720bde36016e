"""Which paths and URLs a run or a dataset can lie at."""

PROTOCOLS = ("file", "local", "memory", "s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "adl")
"""File systems that can create a file only where there is none: what a ledger stands on."""

CREDENTIALS = (
    "the URL holds a user name or a key, and would be stored and shown; leave it out, and set "
    "what the file system reads itself, such as "
    "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
)
_S3, _GS, _AZURE = "-c constraints.txt -e '.[s3]'", "gcsfs", "adlfs"
_PACKAGES = {
    "s3": _S3,
    "s3a": _S3,
    "gs": _GS,
    "gcs": _GS,
    "abfs": _AZURE,
    "abfss": _AZURE,
    "az": _AZURE,
    "adl": _AZURE,
}


def how_to_install(url: str) -> str:
    """What to type where the library for a URL's file system is not installed, after a colon; empty
    for those that need none.
    """
    package = _PACKAGES.get(url.partition("://")[0])
    return "" if package is None else f": pip install {package}"


def unusable(url: str) -> str | None:
    """Why nothing can lie at a path or URL, in a few words, or None."""
    if not url.strip():
        return "the name is empty"
    try:
        url.encode()
    except UnicodeEncodeError:
        return (
            "the name is not UTF-8; rename it, or, where it looks right, set LANG=C.UTF-8: "
            "this process takes names for ASCII"
        )
    if any(character in url for character in "\n\r\0"):
        return "the name holds a line break"
    if "::" in url:
        return "the name holds `::`, which would chain file systems"
    protocol, separator, rest = url.partition("://")
    if url.startswith("data:") or (separator and protocol not in PROTOCOLS):
        return "files there cannot be created safely; use a folder, s3://, gs:// or abfs://"
    if separator and not rest.strip("/") and protocol not in ("file", "local"):
        return f"it names no folder; write {protocol}://somewhere/run"
    return None
