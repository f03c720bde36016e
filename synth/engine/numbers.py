"""Counts and durations as a person reads them."""


def short_count(count: int) -> str:
    """For instance: 950, 9.2k, 640k, 9.2M."""
    for unit, size in (("G", 10**9), ("M", 10**6), ("k", 10**3)):
        if count >= size:
            return (
                f"{count / size:.1f}{unit}" if count < 100 * size else f"{count / size:.0f}{unit}"
            )
    return str(count)


def counted_noun(count: int, noun: str, several: str | None = None) -> str:
    """For instance: 1 fault, 2,000 faults; `several` where its plural is another than with an s."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {several or f'{noun}s'}"


def short_duration(seconds: float) -> str:
    """For instance: 42 s, 7 min, 3 h 20 min, 4 days."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 100:
        return f"{minutes} min"
    hours, rest = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {rest} min" if rest else f"{hours} h"
    return f"{hours / 24:.0f} days"
