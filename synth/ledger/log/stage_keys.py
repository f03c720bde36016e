"""Keys of what a stage writes beside its own rows: evidence that it keeps apart, its conclusion."""

from functools import lru_cache

from synth.schemas import content_hash


def evidence_key(stage_key: str) -> str:
    """The key of rows that a stage keeps out of views, filters and datasets: not its own."""
    return content_hash([stage_key, "episodes"])


@lru_cache(maxsize=1024)
def conclusion(stage_key: str) -> str:
    """The key of what a stage concludes from all its work: of several shards under it the last is
    in force, and no view shows the others.
    """
    return content_hash([stage_key, "conclusion"])
