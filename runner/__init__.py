"""Hosting: many visitors' runs at once, each in a process of its own. Imports no gradio."""
