"""What a visitor sees. Evaluates nothing and stores nothing."""
