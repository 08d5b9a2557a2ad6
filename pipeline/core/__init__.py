"""What every room of the pipeline stands on: reading from outside, text, redaction, files, locks. Imports no other room."""
