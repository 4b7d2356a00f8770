"""
Results of numbers in the simulator, as words that are the same on every CPU.

    python test/unit/sim/cpu_words.py FILE    writes them to an .npz file
"""

from __future__ import annotations

import itertools
import sys
from pathlib import Path
from typing import Any, get_args

import ml_dtypes
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def _words(values: Array) -> Array:
    return np.ascontiguousarray(values).view(f"u{values.dtype.itemsize}")


def any_numbers(dtype: npt.DTypeLike, count: int) -> Array:
    """Numbers of any bits: all there are of 16 bits."""
    of = np.dtype(dtype)
    if of.itemsize == 2:
        return np.arange(1 << 16, dtype=np.uint16).view(of)
    return np.random.default_rng(of.itemsize).integers(0, 256, (count, of.itemsize), np.uint8).view(of)[:, 0]


def edges(dtype: npt.DTypeLike) -> Array:
    """Zeros, small, large and infinite numbers and NaNs, all with both signs, quiet and signaling."""
    of = np.dtype(dtype)
    sign = 1 << 8 * of.itemsize - 1
    top = 1 << {"float16": 10, "bfloat16": 7, "float32": 23, "float64": 52}[of.name]
    infinite = sign - top
    low = [0, 1, top - 1, top, infinite // 2, infinite // 2 + 1, infinite - 1, infinite]
    low += [infinite + payload for payload in (1, 5, top // 2 - 1, top // 2, top // 2 + 3, top - 1)]
    return np.array([*low, *(each | sign for each in low)], f"u{of.itemsize}").view(of)


def turns() -> Array:
    """Numbers next to multiples of pi / 2, where sines and cosines are small, and next to where cosines are ties."""
    near = (np.arange(1, 3000) * (np.pi / 2)).astype(np.float32)
    far = (np.arange(1, 500) * 2.0**100 * (np.pi / 2)).astype(np.float32)
    ties = np.sqrt(np.arange(1, 200) * 2.0**-24).astype(np.float32)
    # Next to ties of log2, sine and cosine: within 4 units of the last place of f64.
    known = np.array([0x40207AB9, 0x4371ADE3, 0x42D44528, 0x42378DB8, 0x424790CE], np.uint32).view(np.float32)
    ties = np.concatenate((ties, known, np.nextafter(known, np.float32(0))))
    return np.concatenate([np.nextafter(each, np.float32(to)) for each in (near, far, ties) for to in (0, 9e38)])


def numerics() -> dict[str, Array]:
    """Results of the functions of `tirx.sim.numerics` for edges, all numbers of 16 bits, and numbers of any bits."""
    from tirx.sim.core.types import TYPES
    from tirx.sim.numerics import functions, integers, rounding
    from tirx.sim.numerics.combine import combine_function
    from tirx.sim.numerics.tensor_cores import RULES, ideal, multiply_values

    found: dict[str, Array] = {}
    for name, type_name in itertools.product(get_args(functions.Name), ("f16", "bf16", "f32")):
        dtype = TYPES[type_name].dtype
        operands = [edges(dtype), any_numbers(dtype, 1 << 15), *([turns()] if type_name == "f32" else [])]
        values = rounding.canonical(functions.rounded_function(name, dtype)(np.concatenate(operands)))
        found[f"{name} {type_name}"] = values
    numbers = edges(np.float64), any_numbers(np.float64, 4000), any_numbers(np.float32, 4000).astype(np.float64)
    wide = np.concatenate(numbers)
    for type_name, mode in itertools.product(("f16", "bf16", "f32"), get_args(rounding.Rounding)):
        rounded = rounding.round_to(wide, TYPES[type_name].dtype, mode)
        found[f"round {mode} {type_name}"] = rounding.with_payload(rounded, wide)
    for name, type_name in itertools.product(("add", "min", "max"), ("f16", "bf16", "f32", "f64")):
        own = edges(TYPES[type_name].dtype)
        a, b = (each.ravel() for each in np.meshgrid(own, own))
        found[f"{name} {type_name}"] = combine_function(name, TYPES[type_name], False)(a, b)
    single = edges(np.float32)
    for smaller, propagate in itertools.product((False, True), repeat=2):
        order = rounding.ordered(single, smaller=smaller, propagate=propagate)
        reduced = (np.minimum if smaller else np.maximum).accumulate(order)
        found[f"ordered {smaller} {propagate}"] = rounding.unordered(reduced)
    own = edges(np.float64)
    a, b, c = (each.ravel() for each in np.meshgrid(own, own, own))
    found["fma f64"] = rounding.propagated(rounding.fused_f64(a, b, c, "rn"), b, c, a)
    found["root f64"] = rounding.propagated(rounding.root_f64(wide, "rn"), wide)
    for name in ("u8", "s16", "u32", "s32", "u64", "s64"):
        found[f"to {name}"] = integers.float_to_integer(np.trunc(wide), TYPES[name].dtype, 3)
    rng = np.random.default_rng(1)
    a, b, c = ((rng.standard_normal(each) * 2.0 ** rng.integers(-40, 41, each)).astype(np.float32) for each in (
        (3, 9, 48), (3, 10, 48), (3, 9, 10)))  # fmt: skip
    a, b = (each.astype(ml_dtypes.bfloat16).astype(np.float32) for each in (a, b))
    b[..., 1::2], a[..., 1::2] = -b[..., ::2], a[..., ::2]  # what cancels leaves what the order of a sum decides
    b[..., ::8] *= 1.5
    for special in (False, True):
        if special:
            a[0, ::5, 3], b[1, ::4, 5], c[2, ::3, ::3] = np.inf, np.nan, -np.inf
        found[f"exact sum {special}"] = rounding.canonical(ideal(a, b, c).astype(np.float32))
        for index, rule in enumerate(rule for rule in RULES if "bf16" in rule.elements):
            total = multiply_values(rule, a, b, c, ("bf16", "bf16"), "f32")
            found[f"sum {index} {special}"] = rounding.canonical(total.astype(np.float32))
    return {name: _words(values) for name, values in found.items()}


def instructions() -> dict[str, Array]:
    """Results of elementwise instructions for edges of their types."""
    from unit.sim.instructions import CASES, edge_operands, module_of_all

    from tirx.sim import run

    count = 256
    inputs = np.array([edge_operands(widths) for _, widths in CASES], np.uint64)
    result = np.zeros((len(CASES), count), np.uint64)
    run(module_of_all(CASES, count), "all", 1, count, [inputs, result], check=False)
    return {f"{index} {name}": row for index, ((name, _), row) in enumerate(zip(CASES, result, strict=True))}


def words() -> dict[str, Array]:
    """All results, as words."""
    with np.errstate(all="ignore"):
        return numerics() | instructions()


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))
    found: dict[str, Any] = words()
    np.savez(sys.argv[1], **found)
