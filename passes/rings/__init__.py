"""Passes that overlap copies, products and epilogues by rings and roles, and lower these."""
