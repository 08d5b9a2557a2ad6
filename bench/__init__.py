"""Measurements that can be repeated: `python -m bench` runs all of them, `python -m bench.speed` and the like one alone."""
