"""What a run will cost, what it has cost, and where it must stop."""
