"""Success rates with their intervals, as a page shows them."""


def bar(rate: float, low: float, high: float) -> str:
    """The rate and its interval as a small picture, 0 to 1 from left to right; the numbers stand
    beside it.
    """
    return (
        '<svg class="bar" width="120" height="14" viewBox="0 0 120 14" aria-hidden="true">'
        '<rect class="ground" y="5" width="120" height="4"/>'
        f'<rect class="range" x="{120 * low:.1f}" y="3" '
        f'width="{max(1.0, 120 * (high - low)):.1f}" height="8"/>'
        f'<rect class="rate" x="{min(118.0, 120 * rate - 1):.1f}" y="0" width="2.5" '
        'height="14"/></svg>'
    )


def percents(low: float, high: float) -> str:
    """An interval, for instance 59–69 %."""
    return f"{100 * low:.0f}–{100 * high:.0f} %"
