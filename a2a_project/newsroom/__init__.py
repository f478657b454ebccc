"""A newsroom as the demonstration has it: what a writing skill writes to."""
