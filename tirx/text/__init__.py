"""MLIR text in, diagnostics out: located parsing, verification, what is shown to the user."""
