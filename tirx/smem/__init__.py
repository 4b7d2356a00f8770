"""Matrix operands in shared memory: swizzles, canonical layouts, matrix descriptors."""
