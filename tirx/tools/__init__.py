"""Command-line tools and what they share: located parsing, verification, pass flags, diagnostic checks."""
