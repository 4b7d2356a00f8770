"""Checks of kernels: layouts, sizes, rings, synchronisation."""
