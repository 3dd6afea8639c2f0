"""Durations as people say them."""

from __future__ import annotations


def in_words(seconds: float) -> str:
    """Return a duration in two units at most.

    Examples
    --------
    >>> in_words(0.04), in_words(59.7), in_words(5400), in_words(200000)
    ('0.0 s', '1 min 0 s', '1 h 30 min', '2 d 7 h')
    """
    if seconds < 59.5:
        return f"{seconds:.1f} s" if seconds < 9.95 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    hours, minutes = divmod(minutes, 60)
    if hours < 24:
        return f"{hours} h {minutes} min"
    days, hours = divmod(hours, 24)
    return f"{days} d {hours} h"
