"""Passes that choose layouts, places and registers for tiles."""
