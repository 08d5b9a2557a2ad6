"""Files to take along: one module a format. All of them are made from the public journal alone, never from the private log."""
