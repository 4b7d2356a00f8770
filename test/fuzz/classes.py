"""The classes of inputs, by name."""

from __future__ import annotations

from fuzz.commands import Commands
from fuzz.engine import InputClass
from fuzz.kernels import Kernels
from fuzz.layouts import Layouts
from fuzz.modules import Modules
from fuzz.programs import Programs

CLASSES: dict[str, type[InputClass]] = {each.name: each for each in (Programs, Modules, Layouts, Kernels, Commands)}
