"""A slider that takes a number beyond its ends as the nearest end. It holds nothing else of its own.

Gradio's refuses one with an error, and a page whose task set has just changed sends the old number once more.
"""

from typing import Any

import gradio as gr


class Limit(gr.Slider):
    """The cap on the number of tasks."""

    is_template = True  # drawn as the slider it is

    def preprocess(self, payload: Any) -> float:
        """The number, moved between the ends; the lower end where there is none."""
        number = payload if isinstance(payload, int | float) and not isinstance(payload, bool) else self.minimum
        return super().preprocess(min(max(number, self.minimum), self.maximum))
