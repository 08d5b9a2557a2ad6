"""Providers of models: one catalogue, and what is read from it (names, keys, lists, checks, probes)."""
