"""Programs that can be launched: descriptors, the simulator without anything spelled out, and real GPUs."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tirx.runtime.arrays import ArgumentError
    from tirx.runtime.driver import GpuError
    from tirx.runtime.launch import Launch, read_launches, write_launches
    from tirx.runtime.program import Kernel, Program, build

__all__ = ["ArgumentError", "GpuError", "Kernel", "Launch", "Program", "build", "read_launches", "write_launches"]

_MODULES = {"ArgumentError": "arrays", "GpuError": "driver"} | dict.fromkeys(("Kernel", "Program", "build"), "program")


def __getattr__(name: str) -> object:
    """Imports the module of a name when it is asked for: a program that is read from disk needs few of them."""
    if name not in __all__:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(import_module(f"{__name__}.{_MODULES.get(name, 'launch')}"), name)
