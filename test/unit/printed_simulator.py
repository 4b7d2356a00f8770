"""Results of the parts of the simulator of tensor cores: words, places, roundings, sums and whole products."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
from unit.sim.executed import INSTRUCTION_DESCRIPTORS, scene_of
from unit.sim.instructions import EDGES
from unit.sim.recorders import shown, words

from tirx.sim import SimError
from tirx.sim.core.types import TYPES
from tirx.sim.hazards.monitor import Writes
from tirx.sim.isa.sparse import Metadata
from tirx.sim.numerics import combine, formats, integers, rounding
from tirx.sim.numerics.chains import Chain
from tirx.sim.numerics.products import product
from tirx.sim.numerics.tensor_cores import RULES, Rule, multiply_groups, multiply_scaled, multiply_values
from tirx.sim.tensor import copies, data_path, scale_factors, zero_mask
from tirx.sim.tensor.instruction_descriptor import KINDS, decode_instruction_descriptor
from tirx.sim.tensor.mma import MmaForm, MmaOperands, tensor_mma
from tirx.sim.tensor.patterns import check_operand
from tirx.sim.tensor.shared_descriptor import SWIZZLE_MODES, SharedDescriptor

Array = npt.NDArray[Any]


def _said(function: Callable[..., Any], *arguments: Any, **named: Any) -> str:
    try:
        return shown(function(*arguments, **named))
    except SimError as error:
        return error.message


def _wgmma_bits(word: int) -> int:
    return SharedDescriptor.of_wgmma(word, "B").bits


def _far_places(word: int, rows: Array, size: int) -> Array:
    return SharedDescriptor(word, "B", "sm_103a").k_major(rows, size)


def instruction_words() -> str:
    """Legal and illegal instruction descriptors of each kind, with their fields."""
    lines: list[str] = []
    modes = [
        (False, False, False),
        (True, False, False),
        (False, True, False),
        (False, False, True),
        (False, True, True),
    ]
    for kind, (ws, sparse, pair) in itertools.product(KINDS, modes):
        scaled = bool(KINDS[kind].scales)
        base = INSTRUCTION_DESCRIPTORS.get(kind, 1 << 7 | 1 << 10 | 1 << 23)
        shape = (1 + pair) << 27 | 32 >> 3 << 17 if scaled else (16 if pair else 4) << 24 | 64 >> 3 << 17
        word = base | shape | sparse << 2
        words = [word, *(word ^ 1 << bit for bit in range(32))]
        words += [word & ~(63 << 17) | n << 17 for n in (0, 1, 2, 3, 4, 5, 6, 8, 16, 17, 32, 33, 34, 36, 63)]
        words += [word & ~(31 << 24) | m << 24 for m in (0, 2, 4, 6, 8, 12, 16, 17, 24, 31)]
        words += [word & ~(7 << low) | code << low for low in (4, 7, 10) for code in range(8)]
        words += [word & ~(63 << 17) | n << 17 | 1 << bit for n in (1, 2, 3, 4, 6) for bit in (3, 13, 15, 16, 31)]
        for each, target in itertools.product(words, ("sm_100a", "sm_103a")):
            try:
                found = decode_instruction_descriptor(each, kind, ws, sparse, pair, target)
            except SimError as error:
                lines.append(f"{error.message} ({ws}, {pair})")
                continue
            fields = (found.a, found.b, found.d, found.m, found.n, found.negate_a, found.negate_b, found.transpose_a)
            more = (found.transpose_b, found.saturate, found.max_shift, found.scale, found.scale_ids, found.selector)
            lines.append(f"{each:#x} {kind}: {fields} {more} {found.depth} {found.b_depth}")
    return "\n".join(dict.fromkeys(lines))


def matrix_places() -> str:
    """Addresses of the elements of operands in shared memory, and descriptors that have none."""
    word = 1 << 46 | 0x123 | 0x45 << 16 | 0x67 << 32
    modes = [word | mode << 61 for mode in range(8)]
    words = [*modes, *(each | 3 << 49 for each in modes), *(each ^ 1 << bit for each in modes[:3] for bit in range(64))]
    lines: list[str] = []
    rows = np.arange(3, 23)
    for each in words:
        for target in ("sm_100a", "sm_103a"):
            try:
                found = SharedDescriptor(each, "A", target)
                other = found.swapped()
                lines.append(f"{each:#x}: {(found.start, found.leading, found.stride, found.base, other.bits)}")
            except SimError as error:
                lines.append(error.message)
                continue
            aligned = SharedDescriptor(each & ~0x3FFF | 0x40 | (0x45 << 16), "A", target)
            for own, size in itertools.product((found, aligned), (16, 32, 48, 64, 96)):
                lines.append(_said(own.k_major, rows, size))
            for own, (depth, element) in itertools.product((found, aligned), ((16, 2), (8, 4), (32, 1))):
                lines.append(_said(own.mn_major, rows, depth, element))
    for mode in range(4):
        found = SharedDescriptor.of_wgmma(word & ~(7 << 46) | mode << 62, "wgmma A")
        lines.append(f"{found.bits:#x} {_said(found.k_major, rows, 16)} {_said(found.mn_major, 64 + rows, 16, 2)}")
    lines += [_said(_wgmma_bits, 8 | 1 << bit) for bit in range(64)]
    absolute = 1 << 46 | 1 << 52 | 2 << 61
    for start, leading, size in itertools.product((0x40, 0x44, 0x46), (0x80, 0x81, 0xC0), (48, 32)):
        own = absolute | start | leading << 16 | 0x40 << 32
        lines.append(_said(_far_places, own, rows, size))
    return "\n".join(lines)


def tensor_places() -> str:
    """Cells of tensor memory that instructions access, masks of columns, and places of scale factors."""
    lines: list[str] = []
    for shape, registers in data_path.REGISTERS.items():
        for repetitions, split in ((1, 0), (2, 5), (4, 16), (8 // registers, 33)):
            lines.append(f"{shape} {repetitions} {shown(data_path.register_cells(shape, repetitions, split))}")
        lines += [
            _said(data_path.check_warp_lanes, shape, lane, warp)
            for lane in (0, 15, 16, 32, 48, 112)
            for warp in range(5)
        ]
    for m, ws, pair, sparse in itertools.product((32, 64, 128, 256), (False, True), (False, True), (False, True)):
        if (m == 256) != pair and not (pair and m == 128) or (m == 32 and not ws) or (pair and ws):
            continue
        path = data_path.data_path(m, weight_stationary=ws, pair=pair, sparse=sparse)
        lines.append(f"{path} {path.block(48, 16, 7)} {shown(path.cells(64, 16))} {shown(path.row_lanes(3))}")
        lines += [_said(path.check_lane, lane) for lane in (0, 1, 16, 32)]
    for (_, multicast), (rows, _) in copies._COPIES.items():  # pyright: ignore[reportPrivateUsage]
        lines.append(shown(copies._copy_lanes(rows, multicast)))  # pyright: ignore[reportPrivateUsage]
    words = [0, 1 << 39, 1 << 39 | 1 << 32 | 5 << 40 | 2 << 48, 1 << 39 | 3 << 32 | 1 << 40 | 7 << 48 | 1 | 2 << 8]
    words += [words[3] | 0xF << 32, words[3] | 7 << 56, *(words[2] ^ 1 << bit for bit in range(64))]
    for each, (m, n), most in itertools.product(words, ((32, 64), (64, 128), (128, 64)), (0, 8, 32)):
        lines.append(_said(zero_mask.expand_zero_mask, each, m, n, most))
    for count, first, element, block in itertools.product((1, 2, 3, 4, 6), range(4), ("ue8m0", "ue4m3"), (16, 32)):
        for address in (7, 1 << 16 | 7, first << 30, 1 << 30, 0x2000 << 16):
            lines.append(_said(scale_factors.ScaleFactors(address, first, count, element).check, block, "SFA"))
    lines.append(_said(scale_factors.ScaleFactors(0, 0, 8, "ue8m0").read, None, 0, 64, "SFA"))
    rng = np.random.default_rng(5)
    for element, k in (
        ("tf32", 8),
        ("tf32", 16),
        ("f16", 16),
        ("bf16", 32),
        ("s8", 32),
        ("e4m3", 64),
        ("s4", 64),
        ("u4", 128),
    ):
        for selector in range(Metadata(element, k, 0).selectors):
            metadata = Metadata(element, k, selector)
            stored = rng.integers(1, 99, (2, 16, k // 2))
            codes = rng.choice([0x44444444, 0xEEEEEEEE, 0x4E4EE4E4], (2, 32)).astype(np.uint32)
            lines.append(f"{metadata} {shown(metadata.expand(stored, codes))}")
            codes[1, 20:23] = (0x11111111, 0x9D4E9D4E, 0x55555555)
            lines += [_said(Metadata(element, k, selector, ordered).expand, stored, codes) for ordered in (False, True)]
    return "\n".join(lines)


_FLOATS = [np.dtype(each) for each in (
    np.float16, np.float32, np.float64, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2,
    ml_dtypes.float6_e2m3fn, ml_dtypes.float6_e3m2fn, ml_dtypes.float4_e2m1fn)]  # fmt: skip
_MODES: tuple[rounding.Rounding, ...] = ("rn", "rz", "rm", "rp")


def _numbers() -> Array:
    """Numbers on both sides of numbers and ties of all formats, as float64."""
    found: list[float] = []
    for dtype in _FLOATS[:2] + _FLOATS[3:]:
        size = min(8 * dtype.itemsize, 15)
        codes = np.unique(np.linspace(0, (1 << size) - 1, 40).astype(f"u{dtype.itemsize}"))
        values = codes.view(dtype).astype(np.float64)
        values = values[np.isfinite(values)]
        ties = (values[:-1] + np.nextafter(values[1:], 0)) / 2
        found += [*values, *ties]
        if dtype.itemsize < 4:
            own = np.arange(min(1 << size, 64), dtype=f"u{dtype.itemsize}").view(dtype).astype(np.float64)
            found += [*own, *((own[1:] + own[:-1]) / 2)]
    edges = np.array(EDGES[64], np.uint64).view(np.float64)
    all_of_them = np.array([*found, *edges, 1.5, 2.5, 65519.99, 65520, 3.4e38, 3.5e38, 464, 465, 61440, 7.75, 30, 7])
    with_neighbours = [all_of_them, np.nextafter(all_of_them, np.inf), np.nextafter(all_of_them, -np.inf)]
    several = np.unique(np.concatenate(with_neighbours).view(np.uint64)).view(np.float64)
    return np.concatenate((several, -several))


def _bits(values: Array) -> Array:
    """The bits, of all NaNs alike."""
    dtype = values.dtype
    bits = values.view(f"u{dtype.itemsize}").copy()
    bits[np.isnan(values.astype(np.float64))] = 0xFF
    return bits


@np.errstate(all="ignore")
def roundings() -> str:
    """Numbers rounded to each format in each way, sums and products of pairs of them, and conversions to integers."""
    numbers = _numbers()
    lines = [words(_bits(rounding.to_odd_f32(numbers)))]
    for dtype in _FLOATS:
        lines += [f"{dtype} {mode} {words(_bits(rounding.round_to(numbers, dtype, mode)))}" for mode in _MODES]
        if dtype.itemsize < 8:
            narrow = numbers.astype(np.float32).astype(np.float64)
            for random in (0.0, 0.25, 0.999, 0.5):
                chosen = narrow[np.abs(narrow) <= formats.largest_finite(dtype)] if dtype.itemsize < 4 else narrow
                lines.append(words(_bits(rounding.round_stochastic(chosen, dtype, np.full(len(chosen), random)))))
    for dtype in _FLOATS[:4]:
        own = numbers.astype(dtype)
        for function in (rounding.canonical, rounding.saturate_unit, rounding.rectified):
            lines.append(words(_bits(function(own))))
        lines.append(words(_bits(rounding.flush(own))))
    wide = numbers[:: max(1, len(numbers) // 150)]
    wide = np.concatenate((wide, wide * 2.0**-500, wide * 2.0**600, [5e-324, -5e-324, 2.0**-1022, 1.7e308]))
    rng = np.random.default_rng(3)
    a, b, c = (rng.permutation(np.resize(wide, 600)) for _ in range(3))
    b[::7], c[::5], c[::11] = -a[::7], -(a * b)[::5], 0.0
    for mode in _MODES[:4]:
        for pair in (rounding.sum_f64, rounding.product_f64, rounding.quotient_f64):
            lines.append(f"{mode} {words(_bits(pair(a, b, mode)))}")
        lines.append(words(_bits(rounding.root_f64(np.abs(a), mode))))
        lines.append(words(_bits(rounding.fused_f64(a, b, c, mode))))
    lines += [words(_bits(rounding.odd_sum(a, b))), words(_bits(rounding.propagated(a * b, a, b)))]
    for name in ("u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"):
        own = TYPES[name]
        lines.append(words(integers.float_to_integer(np.trunc(numbers), own.dtype, 3)))
        x, y = (rng.integers(0, 256, (200, own.bytes), np.uint8).view(own.dtype)[:, 0] for _ in range(2))
        x[:4], y[::9] = (0, 1, np.iinfo(own.dtype).min, np.iinfo(own.dtype).max), 0
        lines += [words(function(x, y)) for function in (integers.divide, integers.remainder)]
        lines.append(words(integers.multiply_high(x, y, own)))
        lines.append(words(integers.saturate(numbers[np.abs(numbers) < 2**62].astype(np.int64), own)))
    for name, type_name in itertools.product(("add", "min", "max"), ("f16", "bf16", "f32", "f64", "f16x2", "bf16x2")):
        own = TYPES[type_name]
        x, y = (
            np.array(EDGES[own.bits], f"u{own.bytes}")[[*order]].view(own.dtype)
            for order in (range(16), range(15, -1, -1))
        )
        for ftz in (False, True) if own.is_float else (False,):
            found = combine.combine_function(name, own, ftz)(x, y)
            lines.append(f"{name} {type_name} {words(_bits(found) if own.is_float else found)}")
    for element in (*formats.TABLES, "f16", "bf16", "tf32", "u8", "s8"):
        raw = np.arange(256, dtype=np.uint8).reshape(4, 64)
        lines.append(
            f"{element} {words(formats.decode_elements(raw, element))} {words(formats.bytes_used(33, element))}"
        )
        if element in formats.BITS:
            lines.append(words(formats.unpack_groups(raw[:3], element)))
    return "\n".join(lines)


_TABLES = {
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "tf32": np.float32, "e4m3": ml_dtypes.float8_e4m3fn,
    "e5m2": ml_dtypes.float8_e5m2, "e2m3": ml_dtypes.float6_e2m3fn, "e3m2": ml_dtypes.float6_e3m2fn,
    "e2m1": ml_dtypes.float4_e2m1fn, "e2m1x2": ml_dtypes.float4_e2m1fn,
}  # fmt: skip


def _elements(rng: np.random.Generator, element: str, shape: tuple[int, ...], size: str) -> Array:
    """Numbers of a type: small integers, numbers of similar sizes, and such of any size, some of them not finite."""
    if size == "integers":
        return rng.integers(-2, 3, shape).astype(np.float32)
    values = rng.standard_normal(shape) * (1 if size == "similar" else 2.0 ** rng.integers(-30, 31, shape))
    if size == "special":
        values = np.where(rng.random(shape) < 0.02, rng.choice([np.inf, -np.inf, np.nan], shape), values)
    dtype = np.dtype(_TABLES.get(element, np.float32))
    if dtype.itemsize == 1:
        largest = formats.largest_finite(dtype)
        values = np.clip(np.where(np.isfinite(values), values, 1.0), -largest, largest)
    found = values.astype(dtype).astype(np.float32)
    return (found.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32) if element == "tf32" else found


def _sums_of(rule: Rule, rng: np.random.Generator) -> Iterator[str]:
    for element, size, result in itertools.product(
        (rule.elements[0], rule.elements[-1]), ("integers", "similar", "spread", "special"), ("f32", "f16")
    ):
        depth = {"tf32": 8, "f16": 32, "bf16": 32}.get(element, 64)
        leading = (67,) if size == "spread" and result == "f32" else (2, 5)
        a, b = (
            _elements(rng, element, (*leading, depth), size),
            _elements(rng, element, (*leading[:-1], 4, depth), size),
        )
        a[..., 3, :], b[..., 2, ::3] = 0, 0
        c = _elements(rng, "f32", (*leading, 4), size)
        c = c.astype(np.float16).astype(np.float32) if result == "f16" else c
        c[..., ::2, :] = 0
        found = multiply_values(rule, a, b, c, (element, element), result)
        yield f"{element} {size} {result} {words(_bits(np.asarray(found, np.float32)))}"
        kept = np.tile([True, False, False, True, False, True, True, False], (*leading, depth // 8))
        found = multiply_values(rule, np.where(kept, a, 0), b, c, (element, element), result, kept)
        yield words(_bits(np.asarray(found, np.float32)))
        chain = Chain(rule, (element, element), result)
        for step in range(5):
            chain.add(a * np.float32(step != 2), b)
        yield words(_bits(chain.plus(c).astype(np.float32)))


@np.errstate(all="ignore")
def tensor_core_sums() -> str:
    """Sums of products by each rule, of numbers of all sizes; dense, sparse, scaled, and one after another."""
    rng = np.random.default_rng(12)
    lines: list[str] = []
    for rule in RULES:
        lines += [f"{rule.family} {rule.capabilities}", *_sums_of(rule, rng)]
    for factor_type, blocks, size in itertools.product(("ue8m0", "ue4m3"), (2, 4), ("similar", "special")):
        a, b = (_elements(rng, "e2m1", (2, rows, 64), "spread") for rows in (5, 3))
        a[:, 1, :16], b[:, 2, 16:48] = 0, 0
        codes = [rng.integers(90, 127, (2, rows, blocks), np.uint8) for rows in (5, 3)]
        if size == "special":
            codes[0][0, 0, 1] = 255 if factor_type == "ue8m0" else 127
        factors = (formats.decode_elements(codes[0], factor_type), formats.decode_elements(codes[1], factor_type))
        c = _elements(rng, "f32", (2, 5, 3), size)
        c[:, 4] = 0
        kept = np.tile([True, True, False, False], (2, 5, 16))
        for own in (None, kept):
            wide = factors[0].astype(np.float64), factors[1].astype(np.float64)
            if blocks * 16 * (1 if own is None else 2) <= 64:
                found = multiply_groups(a.astype(np.float64), b.astype(np.float64), wide, factor_type, c, own)
                lines.append(words(_bits(found)))
            found = multiply_scaled(RULES[0], (a, b), factors, c, ("f32", "e4m3", "e5m2", "f32"), factor_type, own)
            lines.append(words(_bits(np.asarray(found, np.float64))))
    for rows, columns, depth in ((300, 64, 64), (1, 700, 600), (3, 4, 0), (65, 64, 64)):
        x, y = (rng.integers(-9, 9, (2, each, depth)).astype(np.float64) for each in (rows, columns))
        lines.append(words(product(x, y)))
    return "\n".join(lines)


_FORM = MmaForm("f16", False, False, False, 0, False, False, "a", "discard")


def _products() -> Iterator[tuple[str, dict[str, Any], dict[str, Any], int]]:
    """Kind, fields of the form and operands that are not the usual ones, and bits of the instruction descriptor."""
    narrow, scaled = {"b": 0, "scale_factors": (160, 176)}, {"scale_factors": (160, 176)}
    for d in (0, 1):
        for accumulate in (False, True):
            yield "f16", {}, {"accumulate": accumulate}, 4 << 17 | 8 << 24 | d << 4
            yield "f16", {"weight_stationary": True}, {"accumulate": accumulate}, 8 << 17 | 2 << 24 | d << 4
            yield "f8f6f4", {"pair": True}, {"accumulate": accumulate}, 4 << 17 | 16 << 24 | d << 4
            yield (
                "f8f6f4",
                {"pair": True},
                {"accumulate": accumulate, "disabled_lanes": tuple(range(8))},
                6 << 17 | 8 << 24,
            )
    yield "f16", {}, {"scale": 3}, 4 << 17 | 8 << 24 | 1 << 4 | 3 << 13
    yield "f16", {}, {"a_in_tensor_memory": True, "a": 256}, 4 << 17 | 8 << 24 | 1 << 4 | 1 << 14
    yield "f16", {"ashift": True}, {"a_in_tensor_memory": True, "a": 256}, 4 << 17 | 8 << 24 | 1 << 4
    yield "f16", {"ashift": True}, {"a_in_tensor_memory": True, "a": 256}, 4 << 17 | 4 << 24 | 1 << 4
    yield "f16", {}, {"disabled_lanes": (0xF0F01234, 0, 0xFFFFFFFF, 0x80000001)}, 5 << 17 | 8 << 24 | 1 << 4
    yield "f16", {}, {"disabled_lanes": (0xFFFFFFFF,) * 4}, 5 << 17 | 8 << 24 | 1 << 4
    yield "f16", {}, {"disabled_lanes": (1, 2, 3, 4)}, 5 << 17 | 4 << 24 | 1 << 4
    for usage in ("fill", "use", "lastuse", "discard"):
        yield "tf32", {"usage": usage}, {}, 4 << 17 | 8 << 24 | 1 << 4 | 2 << 7 | 2 << 10
        yield (
            "i8",
            {"usage": usage, "weight_stationary": True, "collector": "b1"},
            {},
            8 << 17 | 4 << 24 | 2 << 4 | 1 << 10,
        )
    yield "i8", {"usage": "fill"}, {}, 4 << 17 | 8 << 24 | 2 << 4 | 1 << 3
    yield "i8", {}, {"a_in_tensor_memory": True, "a": 256}, 4 << 17 | 4 << 24 | 2 << 4 | 1 << 7
    for mask in (0, 5 << 56, 1 << 39 | 1 << 32 | 5 << 40 | 2 << 48, 1 << 39 | 7 << 56 | 1 | 2 << 8 | 9 << 40 | 9 << 48):
        for m in (2, 4, 8):
            yield (
                "f16",
                {"weight_stationary": True, "usage": "fill"},
                {"zero_mask": mask},
                8 << 17 | m << 24 | 1 << 4 | 1 << 30,
            )
    for a, b in ((0, 1), (3, 4), (5, 0), (4, 5)):
        yield "f8f6f4", {}, {}, 4 << 17 | 8 << 24 | 1 << 4 | a << 7 | b << 10
        yield "f8f6f4", {}, {"a_in_tensor_memory": True, "a": 256}, 4 << 17 | 4 << 24 | 1 << 4 | a << 7 | b << 10
        yield "mxf8f6f4", {"block": 32}, scaled, 4 << 17 | 1 << 27 | 1 << 23 | a << 7 | b << 10 | 1 << 29 | 2 << 4
        yield "mxf8f6f4", {"block": 32, "pair": True}, scaled, 4 << 17 | 2 << 27 | 1 << 23 | a << 7 | b << 10
        yield "mxf8f6f4", {"block": 32, "pair": True}, scaled, 4 << 17 | 1 << 27 | 1 << 23 | a << 7 | b << 10
    for bits in (15, 16):
        yield "f16", {}, {}, 8 << 17 | 8 << 24 | 1 << 4 | 1 << bits
        yield "i8", {}, {}, 8 << 17 | 8 << 24 | 2 << 4 | 1 << bits
        yield "f16", {"pair": True}, {}, 8 << 17 | 16 << 24 | 1 << 4 | 1 << bits
    for kind, block, counted in (("mxf4", 32, True), ("mxf4nvf4", 16, True), ("mxf4nvf4", 32, False)):
        for wide in (0, 1):
            word = 4 << 17 | 1 << 27 | 1 << 23 | 1 << 7 | 1 << 10 | wide << 31
            yield kind, {"block": block, "counted": counted}, {**scaled, "target": "sm_103a"}, word
            yield kind, {"block": block, "counted": counted, "sparse": True}, {**scaled, "metadata": 196}, word | 4
    for kind, word in (
        ("f16", 1 << 4),
        ("tf32", 1 << 4 | 2 << 7 | 2 << 10),
        ("i8", 2 << 4),
        ("f8f6f4", 1 << 4 | 1 << 10),
    ):
        for selector in (0, 1):
            yield kind, {"sparse": True}, {"metadata": 196}, word | 4 << 17 | 8 << 24 | 4 | selector
            yield kind, {"sparse": True, "weight_stationary": True}, {"metadata": 196}, word | 8 << 17 | 2 << 24 | 4
    yield "f16", {"sparse": True}, {"metadata": 197}, 1 << 4 | 4 << 17 | 8 << 24 | 4
    yield "f16", {"sparse": True}, {"metadata": 1 << 16 | 196}, 1 << 4 | 4 << 17 | 8 << 24 | 4
    yield "f16", {"sparse": True}, {"metadata": 256}, 1 << 4 | 4 << 17 | 8 << 24 | 4
    yield "f16", {}, {"d": 1 << 16}, 4 << 17 | 8 << 24 | 1 << 4
    yield "f16", {}, {"d": 16 << 16 | 8}, 4 << 17 | 4 << 24 | 1 << 4
    yield "f16", {}, {"d": 500}, 4 << 17 | 8 << 24 | 1 << 4
    yield "f16", {}, {"d": 500}, 4 << 17 | 4 << 24 | 1 << 4
    yield "f16", {}, {"a": 0}, 4 << 17 | 8 << 24 | 1 << 4
    yield "mxf8f6f4", {"block": 32}, narrow, 4 << 17 | 1 << 27 | 1 << 23


@np.errstate(all="ignore")
def tensor_products() -> str:
    """Effects of tcgen05.mma of all kinds and forms on tensor memory, and its messages."""
    lines: list[str] = []
    scene = scene_of("sm_100a")
    instruction = next(
        each for form, each in scene.code.items() if form.startswith("tcgen05.mma.cta_group::1.kind::f16")
    )
    scene.prepare(instruction, np.ones(128, np.bool_), checks=True)
    start = scene.variables["s"] >> 4
    descriptor = 1 << 46 | 8 << 16 | 16 << 32
    usual: dict[str, Any] = {name: getattr(_FORM, name) for name in MmaForm.__slots__}
    for kind, form, operands, word in _products():
        fields: dict[str, Any] = {**usual, **form, "kind": kind}
        made = MmaForm(**fields)
        given: dict[str, Any] = {"d": 4, "a": descriptor | start, "b": descriptor | start + 256, "accumulate": True}
        given |= {"a_in_tensor_memory": False, "descriptor": word, **operands}
        scene.launch.program.target = given.pop("target", "sm_100a")
        own, times = MmaOperands(**given), 3 if "accumulate" in operands else 1  # products may wait for others
        found = scene.observed(lambda made=made, own=own: tensor_mma(scene.cta, 3, made, own), times)
        lines.append(f"{kind} {form} {operands} {word:#x}: {found}")
    scene.launch.program.target = "sm_100a"
    return "\n".join(lines)


class _Stage:
    """CTA, launch and monitor that `check_operand` asks, which are one here."""

    def __init__(self, writes: Writes | None, stores: list[tuple[Array, Array]]):
        self.checks, self.rank, self.shared_end = True, 0, 1 << 16
        self.launch = self.program = self.monitor = self
        self.found: list[str] = []
        self._writes, self._stores = writes, stores
        self._looks = 0

    def note(self, rule: str, message: str) -> None:
        self.found.append(f"{rule}: {message}")

    def has_noted(self, rule: str) -> bool:
        return any(each.startswith(rule) for each in self.found)

    def looks_at(self, what: object, limit: int) -> bool:
        self._looks += 1
        return self._looks <= limit

    def shared_writes(self, rank: int, offsets: Array) -> Writes | None:
        if self._writes is None:
            return None
        own = self._writes
        return Writes(own.by_threads[offsets], own.instants[offsets], own.swizzles[offsets])

    def shared_writes_at(self, rank: int, instant: int) -> tuple[Array, Array]:
        return self._stores[instant]


def _stage(written: int, copied: int) -> _Stage:
    """128 rows of 64 bytes from address 1024 on, which four warps wrote in the pattern of a mode, or a copy did."""
    size = 1 << 16
    by_threads, instants = np.zeros(size, np.bool_), np.full(size, -1)
    swizzles = np.full(size, -1)
    if copied >= 0:
        swizzles[1024:9216] = copied
        return _Stage(Writes(by_threads, instants, swizzles), [])
    stores: list[tuple[Array, Array]] = []
    thread = np.arange(128)
    mode = SWIZZLE_MODES[written]
    for instant in range(4):
        linear = 1024 + 64 * thread + 16 * instant
        starts = linear ^ ((linear >> mode.shift) & mode.mask)
        places = (starts[:, None] + np.arange(16)).ravel()
        stores.append((places, np.repeat(thread if instant != 2 else thread[:70].repeat(2)[:128], 16)))
        by_threads[places], instants[places] = True, instant
    return _Stage(Writes(by_threads, instants, swizzles), stores)


def _warnings(stage: _Stage, descriptor: SharedDescriptor, found: Array, used: Array | None, element: int) -> list[str]:
    """Warnings about an operand that is looked at twice."""
    asked: Any = stage
    for _ in range(2):
        check_operand(asked, descriptor, found, np.unique(found if used is None else found[used]), used, element)
    return [f"{len(stage.found)}", *stage.found]


def operand_patterns() -> str:
    """Warnings about operands in another pattern than they were written, and about elements that share bytes."""
    lines: list[str] = []
    rows = np.arange(16)
    forms = [(16, 0, 0), (32, 2, 0), (32, 1, 0), (16, 2, 1), (8, 4, 1), (24, 0, 0), (32, 4, 0)]
    for mode, (size, element, mn_major), (leading, stride) in itertools.product(
        SWIZZLE_MODES, forms, ((1, 8), (8, 1), (8, 16), (16, 8), (64, 64), (0, 0), (4, 64))
    ):
        descriptor = SharedDescriptor(1 << 46 | 64 | leading << 16 | stride << 32 | mode << 61, "B")
        try:
            found = descriptor.mn_major(rows, size, element) if mn_major else descriptor.k_major(rows, size)
        except SimError:
            continue
        used = np.ones(found.shape, np.bool_)
        used[1::5] = False
        for marks in (None, used):
            lines += _warnings(_Stage(None, []), descriptor, found, marks, element)
        if (leading, stride) == (8, 16) and element in (0, 4):
            for written, copied in (*((mode, -1) for mode in SWIZZLE_MODES), *((0, copied) for copied in range(7))):
                lines += _warnings(_stage(written, copied), descriptor, found, None, element)
    return "\n".join(lines)
