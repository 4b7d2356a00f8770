"""The simulator decodes the tcgen05 instructions that ptxas assembles, and no others."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import product

import pytest
from unit.cases import Sampled

from tirx.ptx.ptxas import assemble, find_ptxas
from tirx.sim import SimError
from tirx.sim.program.linker import link
from tirx.sim.reader import parse

_DECLARATIONS = ".reg .pred %p<8>; .reg .b16 %h<4>; .reg .b32 %r<32>; .reg .b64 %d<16>; .reg .f32 %f<8>;"
_KINDS = ("f16", "tf32", "f8f6f4", "i8", "mxf8f6f4", "mxf4", "mxf4nvf4")
_VECTOR_SIZES = ("", ".scale_vec::1X", ".scale_vec::2X", ".scale_vec::4X", ".block16", ".block32")
_SHAPES = {"32x32b": 1, "16x64b": 1, "16x128b": 2, "16x256b": 4, "16x32bx2": 1}
_REFUSED = 12  # of those that the simulator refuses, how many ptxas is asked about


def _vector(count: int) -> str:
    return "{" + ", ".join(f"%r{1 + index}" for index in range(count)) + "}"


def _products() -> Iterator[str]:
    for ws, sp, group, kind, a in product(("", ".ws"), ("", ".sp"), (1, 2), _KINDS, ("%d1", "[%r9]")):
        metadata = ", [%r11]" if sp else ""
        scaled = kind.startswith("mx")
        factors = ", [%r12], [%r13]" if scaled else ""
        for size in _VECTOR_SIZES if scaled and not ws else ("",):
            scale = f".block_scale{size}" if scaled else ""
            name = f"tcgen05.mma{ws}{sp}.cta_group::{group}.kind::{kind}{scale}"
            operands = f"[%r0], {a}, %d2{metadata}, %r10{factors}"
            yield f"{name} {operands}, %p1"
            if size or kind not in ("f16", "f8f6f4", "mxf4"):
                continue
            for modifier in (".collector::a::use", ".collector::b2::lastuse", ".ashift", ".ashift.collector::a::fill"):
                yield f"{name}{modifier} {operands}, %p1"
            lanes = f"{_vector(4 * group)}, %p1"
            for rest in (f"{_vector(4)}, %p1", f"{_vector(8)}, %p1", f"{lanes}, 3", "%p1, 16", "%p1, %d3", "1"):
                yield f"{name} {operands}, {rest}"


def _transfers() -> Iterator[str]:
    for group in (1, 2):
        for shape, multicast, packing in product(
            ("128x256b", "128x128b", "4x256b", "64x128b", "32x128b"),
            ("", ".warpx2::02_13", ".warpx2::01_23", ".warpx4"),
            ("", ".b8x16.b6x16_p32", ".b8x16.b4x16_p64", ".b8x16"),
        ):
            yield f"tcgen05.cp.cta_group::{group}.{shape}{multicast}{packing} [%r0], %d1"
        for direction in ("", ".down", ".up"):
            yield f"tcgen05.shift.cta_group::{group}{direction} [%r0]"
        for space, multicast in product(("", ".shared::cluster", ".shared::cta"), ("", ".multicast::cluster")):
            mask = ", %h0" if multicast else ""
            yield f"tcgen05.commit.cta_group::{group}.mbarrier::arrive::one{space}{multicast}.b64 [%d1]{mask}"
        for space in ("", ".shared::cta", ".shared::cluster"):
            yield f"tcgen05.alloc.cta_group::{group}.sync.aligned{space}.b32 [%d1], 64"


def _loads() -> Iterator[str]:
    for (shape, registers), count in product(_SHAPES.items(), (1, 2)):
        split = ", 4" if shape == "16x32bx2" else ""
        vector = _vector(count * registers)
        for packing in ("", ".pack::16b", ".unpack::16b"):
            yield f"tcgen05.ld.sync.aligned.{shape}.x{count}{packing}.b32 {vector}, [%r0]{split}"
            yield f"tcgen05.st.sync.aligned.{shape}.x{count}{packing}.b32 [%r0]{split}, {vector}"
        for operation, modifiers, element in product(
            (".min", ".max", ""), ("", ".abs", ".NaN", ".abs.NaN"), (".f32", ".s32", ".u32")
        ):
            form = f"{shape}.x{count}{operation}{modifiers}{element}"
            yield f"tcgen05.ld.red.sync.aligned.{form} {vector}, %r20, [%r0]{split}"


def _module(target: str, forms: list[str]) -> str:
    entries = [f".visible .entry k{i}() {{ {_DECLARATIONS} {form}; ret; }}" for i, form in enumerate(forms)]
    return "\n".join([f".version 9.0\n.target {target}\n.address_size 64", *entries])


def _is_decoded(module: str, form: str) -> bool:
    try:
        link(parse(module), "k0")
    except SimError as error:
        assert error.line is not None and error.text.startswith(form.split()[0]), error
        return False
    return True


@pytest.mark.skipif(find_ptxas() is None, reason="no ptxas")
@pytest.mark.parametrize(
    ("target", "forms"),
    [
        ("sm_100a", _products),
        ("sm_103a", _products),
        ("sm_100f", _products),
        ("sm_100a", _transfers),
        ("sm_100f", _transfers),
        ("sm_103a", _loads),
        ("sm_100a", _loads),
    ],
    ids=lambda each: each if isinstance(each, str) else each.__name__,
)
@pytest.mark.sample(3)
def test_forms(target: str, forms: Callable[[], Iterator[str]], sampled: Sampled):
    every = sampled(forms(), 80)
    decoded = [form for form in every if _is_decoded(_module(target, [form]), form)]
    refused = sorted(set(every) - set(decoded))
    assert len(decoded) > 4 and len(refused) > 4
    result = assemble(_module(target, decoded), target, warnings_as_errors=False)
    assert result.ok, result.stderr
    for form in random.Random(target).sample(refused, min(_REFUSED, len(refused))):
        assert not assemble(_module(target, [form]), target, warnings_as_errors=False).ok, form
