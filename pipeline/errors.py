"""What may be said to a person when something cannot go on. Never holds a key.

A `UserError` is printed without a traceback, at the command line and on the page.
"""


class UserError(Exception):
    """Something the person can mend.

    Args:
        found: what was found, in one sentence.
        expected: what would have been right, or "".
        do: what to do next, and where, or "".
    """

    def __init__(self, found: str, expected: str = "", do: str = "") -> None:
        self.found, self.expected, self.do = found, expected, do
        super().__init__(" ".join(part for part in (found, expected, do) if part))
