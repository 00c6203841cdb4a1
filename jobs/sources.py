"""What to tell a person about the sources that are set: that they stand in place of the sample's, and which nobody reads."""

from collections.abc import Collection

from corpusmill.settings import Settings, settings_file
from jobs.asset_graph import near


def told_sources(settings: Settings) -> str | None:
    """Return a line that names sources which stand in place of the sample's; None where the sample's are used."""
    if settings.has_sample_sources:
        return None
    named = ", ".join(f"{name} ({source.uri})" for name, source in sorted(settings.sources.items()))
    return f"Sources are those of {settings_file()} in place of the sample's: {named}"


def told_unread(settings: Settings, datasets: Collection[str]) -> str | None:
    """Return a line that names sources of which no asset is; None where assets read all of them."""
    unread = sorted(set(settings.sources) - set(datasets))
    if settings.has_sample_sources or not unread:
        return None
    return "; ".join(f"no asset reads [sources.{name}], {near(name, datasets)}" for name in unread)
