"""The classes of inputs, by name."""

from __future__ import annotations

from fuzz.commands import Commands
from fuzz.documents import Documents
from fuzz.engine import InputClass
from fuzz.kernels import Kernels
from fuzz.layouts import Layouts
from fuzz.modules import Modules
from fuzz.programs import Programs

CLASSES: dict[str, type[InputClass]] = {
    each.name: each for each in (Programs, Modules, Documents, Layouts, Kernels, Commands)
}

SHARES = {"programs": 32.0, "modules": 24.0, "documents": 4.0, "layouts": 7.0, "kernels": 19.0, "commands": 14.0}
"""Per cent of the CPU time. An input of `layouts` takes a hundredth of the time of one of `programs`."""
