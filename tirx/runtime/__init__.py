"""Programs that can be launched: descriptors, the simulator without anything spelled out, and real GPUs."""

from tirx.runtime.arrays import ArgumentError
from tirx.runtime.driver import GpuError
from tirx.runtime.launch import Launch, read_launches, write_launches
from tirx.runtime.program import Kernel, Program, build

__all__ = ["ArgumentError", "GpuError", "Kernel", "Launch", "Program", "build", "read_launches", "write_launches"]
