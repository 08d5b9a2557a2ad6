"""The strip of one task: a sign for each verdict, by rubric layer. In Python and not in a template, since a page has
thousands of them.
"""

from collections import Counter
from collections.abc import Callable
from functools import cache

from markupsafe import Markup, escape

from ui.results.rows import EpochPart, Mark

T = Callable[..., str]
STATES = ("met", "unmet", "penalty", "avoided", "unread", "none")


def strips(t: T) -> Callable[[EpochPart], Markup]:
    """Draws strips in one language."""

    @cache
    def word(key: str) -> str:
        return str(escape(t(key)))

    def sign(layer: str, mark: Mark) -> str:
        title = f"{word(f'layer_{layer}')} {escape(mark.id)}, {word('result.col_weight')} {mark.weight}"
        return f'<i class="s-{mark.state}" title="{title}: {word(f"result.state.{mark.state}")}">{mark.shape}</i>'

    def strip(part: EpochPart) -> Markup:
        layers = []
        for name, marks in part.layers():
            counts = Counter(mark.state for mark in marks)
            said = "".join(f"{counts[s]} {word(f'result.state.{s}')} " for s in STATES if counts[s])
            signs = "".join(sign(name, mark) for mark in marks)
            layers.append(f'<span class="layer" role="img" aria-label="{word(f"layer_{name}")}: {said}">{signs}</span>')
        return Markup(f'<span class="strip">{"".join(layers)}</span>')

    return strip
