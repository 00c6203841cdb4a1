"""Functions that recipes of tests name as generators."""


def shorten(text: str) -> str | None:
    """Return the first sentence; nothing for a text without one."""
    first, stop, _ = text.partition(".")
    return f"{first}." if stop else None


def fragile(text: str) -> object:
    """Raise at some texts and give a number for others."""
    return {"raise": lambda: 1 / 0, "count": lambda: len(text)}.get(text, lambda: text)()


NOT_A_FUNCTION = "x"
