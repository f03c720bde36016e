"""Which processes live, read from /proc: the children of one, the members of a session."""

from pathlib import Path

PROC = Path("/proc")


def children(parent: int) -> set[int]:
    """Ids of living processes whose parent this is."""
    return {pid for pid, (_, ppid, _) in _processes().items() if ppid == parent}


def session_members(session: int) -> set[int]:
    """Ids of living processes of a session; those that are dead and only wait to be counted
    (zombies) are none.
    """
    return {
        pid for pid, (state, _, found) in _processes().items() if found == session and state != "Z"
    }


def _processes() -> dict[int, tuple[str, int, int]]:
    """Process id -> state, parent, session."""
    found = {}
    for folder in PROC.iterdir():
        if not folder.name.isdecimal():
            continue
        try:
            stat = (folder / "stat").read_text(encoding="utf-8", errors="replace")
        except (FileNotFoundError, ProcessLookupError):  # ended meanwhile
            continue
        state, parent, _group, session, *_ = stat.rpartition(")")[2].split()
        found[int(folder.name)] = (state, int(parent), int(session))
    return found
