"""The L2-Bench evaluation: tasks in, verdicts and a score out. Knows nothing of the web.

Run it alone with `python -m pipeline.eval`. Importing this package imports neither inspect-ai nor gradio.
"""

__version__ = "1.0.0"
