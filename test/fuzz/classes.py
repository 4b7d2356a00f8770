"""The classes of inputs, by name."""

from __future__ import annotations

from fuzz.commands import Commands
from fuzz.engine import InputClass
from fuzz.kernels import Kernels
from fuzz.layouts import Layouts
from fuzz.modules import Modules
from fuzz.programs import Programs

CLASSES: dict[str, type[InputClass]] = {each.name: each for each in (Programs, Modules, Layouts, Kernels, Commands)}

SHARES = {"programs": 32.0, "modules": 25.0, "layouts": 8.0, "kernels": 20.0, "commands": 15.0}
"""Per cent of the CPU time. An input of `layouts` takes a hundredth of the time of one of `programs`."""
