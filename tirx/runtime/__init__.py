"""Programs that can be launched: descriptors, the simulator without anything spelled out, and real GPUs."""
