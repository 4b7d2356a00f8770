"""Kernels as operators of torch, which `torch.compile` keeps and calls (PyTorch, "torch.library")."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from tirx.runtime.arrays import ArgumentError, ArrayView, check_array
from tirx.runtime.launch import Launch, PointerArgument


def schema_of(launch: Launch) -> str:
    """The operator's schema, as in `(Tensor a, Tensor(a1!) d, int n) -> ()`: what the kernel writes is marked."""
    parameters: list[str] = []
    for i, argument in enumerate(launch.passed):
        if isinstance(argument, PointerArgument):
            kind = f"Tensor(a{i}!)" if argument.is_written else "Tensor"
        else:
            kind = "float" if argument.type.startswith("f") else "int"
        parameters.append(f"{kind} {argument.name}")
    return f"({', '.join(parameters)}) -> ()"


def torch_operator(name: str, launch: Launch, kernel: Callable[..., object]) -> Any:
    """Registers a kernel, which `launch` describes, as the operator `name` ("library::name") of torch, and returns it.

    It takes the arguments of the kernel, writes in place and returns nothing. `torch.compile` keeps it as one call and
    knows which tensors it changes; shapes, types and strides are checked when a program is traced. Raises ArgumentError
    for a kernel without a grid.
    """
    if launch.grid is None:
        raise ArgumentError(f"'{launch.entry}': expected a kernel with a clause grid(...), found none")
    library = importlib.import_module("torch.library")
    written = [a.name for a in launch.passed if isinstance(a, PointerArgument) and a.is_written]

    def call(*arguments: Any) -> None:
        kernel(*arguments)

    def fake(*arguments: Any) -> None:
        for argument, value in zip(launch.passed, arguments, strict=True):
            if isinstance(argument, PointerArgument):
                dtype = str(value.dtype).removeprefix("torch.")
                check_array(argument, ArrayView(0, tuple(value.shape), value.stride(), dtype, value.element_size()))

    operator = library.custom_op(name, call, mutates_args=written, device_types="cuda", schema=schema_of(launch))
    operator.register_fake(fake)
    return operator
