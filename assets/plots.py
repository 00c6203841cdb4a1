"""Small plots for an asset's page, as Markdown with the picture inside."""

import base64
from collections.abc import Mapping


def bar_chart(values: Mapping[str, float]) -> str:
    """Return a horizontal bar chart, largest first, as a Markdown image (SVG inside the link; no file is written)."""
    bars = sorted(values.items(), key=lambda item: -item[1])[:25]
    height = 18 * len(bars) + 8
    largest = max((value for _, value in bars), default=1) or 1
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="640" height="{height}" font-family="sans-serif" font-size="12">'
    ]
    for row, (name, value) in enumerate(bars):
        y = 18 * row + 4
        width = max(1, round(360 * value / largest))
        parts.append(f'<text x="190" y="{y + 12}" text-anchor="end">{_escape(name)}</text>')
        parts.append(f'<rect x="196" y="{y}" width="{width}" height="14" fill="#4c78a8"/>')
        parts.append(f'<text x="{200 + width}" y="{y + 12}">{value:,.10g}</text>')
    picture = "".join([*parts, "</svg>"])
    encoded = base64.b64encode(picture.encode()).decode()
    return f"![chart](data:image/svg+xml;base64,{encoded})"


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
