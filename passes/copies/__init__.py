"""Passes that choose and lower copies, and the helpers that emit loads, stores and tensor maps."""
