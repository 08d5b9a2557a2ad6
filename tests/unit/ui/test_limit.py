"""The cap's slider: a number beyond its ends is the nearest end, never an error."""

import pytest

from ui.limit import Limit


@pytest.mark.parametrize(("given", "taken"), [(20, 6), (0, 1), (-3, 1), (4, 4), (None, 1), (True, 1), ("x", 1), (1e9, 6)])
def test_a_number_beyond_the_ends_is_the_nearest_end(given: object, taken: int) -> None:
    limit = Limit(1, 6, value=6, step=1, render=False)
    assert limit.preprocess(given) == taken and limit.get_block_name() == "slider"
