"""Decisions: which layout, which instruction, which address. Plans are data; `emit` turns them into operations."""
