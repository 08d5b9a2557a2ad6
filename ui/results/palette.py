"""Colours and font of the light theme by their CSS variables, for figures that leave the page.

A test holds their names to the styles.
"""

LIGHT = {
    "--ink": "#14212a",
    "--ink-2": "#3d4b56",
    "--line": "#cdd6db",
    "--bar": "#2b7f93",
    "--accent": "#0b5c70",
    "--accent-ink": "#ffffff",
    "--surface": "#ffffff",
    "--cell-none": "#e1e7ea",
    "--skip": "#62707a",
    "--fail": "#a2432a",
    "--heat-0": "#f3e4d0",
    "--heat-1": "#cfe3e5",
    "--heat-2": "#9fcad0",
    "--heat-3": "#2f7d90",
    "--heat-4": "#0b5066",
    "--heat-ink-0": "#14212a",
    "--heat-ink-1": "#14212a",
    "--heat-ink-2": "#14212a",
    "--heat-ink-3": "#ffffff",
    "--heat-ink-4": "#ffffff",
    "--c-1": "#0b5c70",
    "--c-2": "#b4532a",
    "--c-3": "#5d4a9c",
    "--c-4": "#2f7d4f",
    "--c-5": "#a0357a",
    "--c-6": "#6b6b1f",
    "--font": "IBM Plex Sans, sans-serif",
}
"""The light theme's values, for figures that leave the page."""
