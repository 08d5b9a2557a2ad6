"""Tokens of one call as the provider reported them. Absent is None, never 0; never estimates.

The general units include the specific ones: `input` holds cached tokens too, `output` holds reasoning tokens too.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call.

    Attributes:
        input: all input tokens, cached ones included; None where the provider did not say.
        output: all output tokens, reasoning included; None where the provider did not say.
        cache_read, cache_write, reasoning: parts of the two above; 0 where there were none.
        cost: US dollars the provider itself reported for the call (with the upstream cost of an own key), or None.
    """

    input: int | None = None
    output: int | None = None
    cache_read: int = 0
    cache_write: int = 0
    reasoning: int = 0
    cost: float | None = None

    @property
    def known(self) -> bool:
        """Whether both token counts were reported. All zeros beside text must be made unknown by the reader."""
        return self.input is not None and self.output is not None

    @property
    def total(self) -> int | None:
        """Input plus output, or None where either is unknown."""
        return None if self.input is None or self.output is None else self.input + self.output
