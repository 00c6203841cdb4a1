"""Functions that recipes of tests name as generators."""


def shorten(text: str) -> str | None:
    """Return the first sentence; nothing for a text without one."""
    first, stop, _ = text.partition(".")
    return f"{first}." if stop else None


NOT_A_FUNCTION = "x"
