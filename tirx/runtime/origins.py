"""Kernels that `tirx-tile-linalg` makes mean what the functions did that they come from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, cast

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from tirx.diagnostics import LocatedError
from tirx.dialects.requirements import variants
from tirx.dialects.structured import Form, is_structured
from tirx.dialects.tirx import kernels
from tirx.interp import Ran, can_run, run_function
from tirx.interp.formats import Array
from tirx.passes.products.linalg_reading import argument_forms
from tirx.values import dataclass


@dataclass(frozen=True)
class Origin:
    """A function of structured operations, and the form in which its kernel has each argument; None: the same one."""

    function: func.FuncOp
    forms: Sequence[Form | None]

    @staticmethod
    def of(module: ModuleOp) -> Mapping[str, Origin]:
        """Returns the functions of a module, by name, that `tirx-tile-linalg` can make kernels of."""
        found: dict[str, Origin] = {}
        for op in module.clone().body.block.ops:
            if isinstance(op, func.FuncOp) and can_run(op) and any(map(is_structured, op.walk())):
                with suppress(LocatedError):  # the pass refuses it
                    found[op.sym_name.data] = Origin(op, argument_forms(op))
        return found

    @staticmethod
    def find(known: Mapping[str, Origin], module: ModuleOp, name: str) -> Origin | None:
        """Returns the one of `known` that the kernel `name` of a module, or the kernel that it is a variant of, has."""
        mains = (each for each in kernels(module) if any(name == variant.entry for variant in variants(each)))
        return known.get(next((each.sym_name.data for each in mains), name))

    def run(self, arguments: Sequence[Any], *, bounds: bool = False, modular: bool = False) -> Ran:
        """Runs the function on arguments of its kernel, which are updated in place. Raises RunError."""
        own = [
            each if form is None else _of_function(each, form) for each, form in zip(arguments, self.forms, strict=True)
        ]
        ran = run_function(self.function, own, bounds=bounds, modular=modular)
        pairs = zip(ran.errors, self.forms, strict=True)
        return Ran(ran.exact, tuple(e if e is None else _of_kernel(e, cast(Form, form)) for e, form in pairs))


def _of_function(array: Array, form: Form) -> Array:
    """Returns a view of an array of the kernel as the function has it."""
    array = array.squeeze(tuple(form.units))
    return array.transpose([form.permutation.index(d) for d in range(array.ndim)])


def _of_kernel(array: Array, form: Form) -> Array:
    return np.expand_dims(array.transpose(form.permutation), tuple(form.units))
