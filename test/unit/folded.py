"""The definition of scans, element by element."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Combine = Callable[[tuple[Any, ...], tuple[Any, ...]], tuple[Any, ...]]


def named(how: str) -> Combine:
    """The combination that a name stands for, of one value."""
    one = {"add": np.add, "mul": np.multiply, "max": np.fmax, "min": np.fmin}[how]
    return lambda a, b: (one(a[0], b[0]),)


def affine(a: tuple[Any, Any], b: tuple[Any, Any]) -> tuple[Any, Any]:
    """The composition of x -> a x + b with the one behind it, which does not commute."""
    return a[0] * b[0], a[1] * b[0] + b[1]


def neutral(how: str, dtype: Any) -> Any:
    """The element that changes nothing."""
    if dtype.kind == "f":
        return {"add": -0.0, "mul": 1.0}.get(how, np.nan)
    return {"add": 0, "mul": 1, "max": np.iinfo(dtype).min, "min": np.iinfo(dtype).max}[how]


def scanned(
    ins: Sequence[Array], d: int, combine: Combine, inits: Sequence[Array], *, exclusive: bool, reverse: bool
) -> tuple[list[Array], list[Array]]:
    """Returns the accumulators at each element along a dimension, those before it if `exclusive`, and the last ones.

    Without `inits`, whose extent along the dimension is 1, the first element is the first accumulator.
    """
    lines = [np.moveaxis(each, d, 0) for each in ins]
    order = list(range(len(lines[0])))[:: -1 if reverse else 1]
    before = tuple(np.moveaxis(each, d, 0)[0] for each in inits) or None
    found = [np.zeros_like(each) for each in lines]
    for i in order:
        own = tuple(each[i] for each in lines)
        after = own if before is None else combine(before, own)
        kept = before if exclusive else after
        assert kept is not None, "an exclusive scan begins with something"
        for result, value in zip(found, kept, strict=True):
            result[i] = value
        before = after
    assert before is not None
    return [np.moveaxis(each, 0, d) for each in found], [np.expand_dims(each, d) for each in before]
