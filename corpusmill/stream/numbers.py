"""Numbers that a user gives: whole ones, and not text from the environment."""


def check_int(name: str, value: object, *, least: int | None = None) -> None:
    """Raise ValueError unless a value is an int, of at least so much."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(f"{name} must be an int, got {value!r}; a number from the environment needs int(...)")
    if least is not None and value < least:
        raise ValueError(f"{name} must be at least {least}, got {value}")
