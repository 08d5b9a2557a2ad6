"""From an answer to verdicts, and from verdicts to a score and an outcome."""
