"""From a tasks file and its resources to tasks that can be chosen and sampled. Never calls a model."""
