"""The proof that rings neither deadlock nor overwrite a slot, for every number of iterations."""
