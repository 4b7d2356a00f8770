"""Building operations: at one place, with the location of the operation that is lowered."""
