"""Lowering of scalars, of maps over register tiles, and of moves between registers."""
