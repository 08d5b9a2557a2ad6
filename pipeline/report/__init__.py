"""From a run's events to figures that can be read, compared, checked and taken along."""
