"""Facts about the IR that passes share: constants, indices, control flow, views of tiles; the emitter of operations."""
