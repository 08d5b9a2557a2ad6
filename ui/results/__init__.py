"""Server-rendered pages about runs: result, gallery, compare, explore. Readable without scripts; no Gradio in them."""

from ui.results.routes import routes

__all__ = ["routes"]
