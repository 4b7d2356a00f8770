"""Passes that make, choose and lower products."""
