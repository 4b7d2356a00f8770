"""Integers and index expressions of which only parts are known: ranges, divisors, values modulo a power of two."""
