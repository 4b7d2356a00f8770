"""Kernels of every variant, from the tables: each becomes the instruction that the table names, and assembles."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest

import tirx
from tirx.diagnostics import diagnostic_handler
from tirx.hw.features import supporting_targets
from tirx.layout import ComposeLayout, SwizzleLayout, SwizzleMode, TileLayout, element_type
from tirx.mma.fragments import VARIANTS, MmaVariant
from tirx.ptx.ptxas import assemble
from tirx.smem.smem_descriptor import SmemDescriptor
from tirx.tcgen05.instruction_descriptor import InstructionDescriptor
from tirx.tcgen05.tmem import accumulator_layout

TARGETS = ("sm_70", "sm_75", "sm_80", "sm_89", "sm_90a", "sm_100a")


def compile_quietly(text: str) -> str:
    """PTX without the warning that f16 is emulated."""
    with diagnostic_handler(lambda _: None):
        return tirx.compile(text)


def assert_assembles(ptx: str, target: str) -> None:
    result = assemble(ptx, target)
    assert result.ok, result.stderr


def attribute(layout: TileLayout | ComposeLayout) -> str:
    if isinstance(layout, TileLayout):
        return f"#tirx.tile_layout<{layout}>"
    swizzle = layout.swizzle
    numbers = f"{swizzle.per_element}, {swizzle.swizzle_len}, {swizzle.atom_len}"
    return f"#tirx.compose_layout<#tirx.swizzle_layout<{numbers}>, {attribute(layout.tile)}>"


def extents(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape))


def targets_of(variant: MmaVariant) -> list[str]:
    """The oldest and the newest target that have it."""
    found = [target for target in TARGETS if target in supporting_targets(variant.feature)]
    return [found[0], found[-1]]


PAIRS = [(v.name, t) for v in VARIANTS.values() if v.scales is None and v.codes is None for t in targets_of(v)]


@pytest.mark.parametrize(("name", "target"), PAIRS)
@pytest.mark.sample(1)
def test_one_mma_sync(name: str, target: str) -> None:
    """One fragment of each operand, as the table has it, is one instruction."""
    variant = VARIANTS[name]
    ptx = compile_quietly(fragment_kernel(variant, target))
    products = [line.split()[0] for line in ptx.splitlines() if "mma.sync" in line]
    if variant.operand_type == "f64":  # as many m8n8k4, which f64 fragments of m16n8 are too
        variant = VARIANTS["m8n8k4.row.col.f64"]
        assert len(products) in (1, 2, 4, 8)
    assert set(products) == {variant.mnemonic}
    assert len(products) == 1 or variant.operand_type == "f64"
    assert_assembles(ptx, target)


def fragment_kernel(variant: MmaVariant, target: str) -> str:
    names = {"a": variant.a, "b": variant.b, "d": variant.c}
    shaped = {n: f"{extents(f.shape)}x{(f.dtype, *element_type(f.dtype).ir_names)[-1]}" for n, f in names.items()}
    memories = {n: f"memref<{shape}>" for n, shape in shaped.items()}
    tiles = {n: f"!tirx.tile<{shape}, register, {attribute(names[n].layout)}>" for n, shape in shaped.items()}
    views = {n: f"!tirx.tile<{shape}, global>" for n, shape in shaped.items()}
    loads = "\n".join(
        f"""
        %g{n} = tirx.view %{n}[%c0, %c0, %c0] : {memories[n]} -> {views[n]}
        %r{n} = tirx.alloc : {tiles[n]}
        tirx.copy %g{n}, %r{n} : {views[n]}, {tiles[n]}"""
        for n in names
    )
    arguments = ", ".join(f"%{n}: {memory}" for n, memory in memories.items())
    return f"""
      tirx.kernel @fragment({arguments}) target("{target}") grid(1) threads(32) {{
        %c0 = arith.constant 0 : index
        {loads}
        tirx.mma %ra, %rb, %rd : {tiles["a"]}, {tiles["b"]}, {tiles["d"]}
        tirx.copy %rd, %gd : {tiles["d"]}, {views["d"]}
        tirx.return
      }}"""


GEMMS = [
    ("f16", "f32", "sm_70", "m8n8k4"),
    ("f16", "f32", "sm_75", "m16n8k8"),
    ("f16", "f32", "sm_80", "m16n8k16"),
    ("f16", "f16", "sm_90a", "m16n8k16"),
    ("bf16", "f32", "sm_100a", "m16n8k16"),
    ("tf32", "f32", "sm_80", "m16n8k8"),
    ("f64", "f64", "sm_80", "m8n8k4"),
    ("f64", "f64", "sm_90a", "m16n8k8"),
    ("i8", "i32", "sm_80", "m16n8k32"),
    ("ui8", "i32", "sm_90a", "m16n8k32"),
    ("f8E4M3FN", "f32", "sm_89", "m16n8k32"),
]


@pytest.mark.parametrize(("dtype", "acc", "target", "instruction"), GEMMS)
@pytest.mark.sample(1)
def test_gemm_without_layouts(dtype: str, acc: str, target: str, instruction: str) -> None:
    """Four warps of a 64x32 tile, 32 elements of K at a time: the instruction that the target does best, everywhere."""
    ptx = compile_quietly(gemm_kernel(dtype, acc, target))
    found = [line.split(".")[3] for line in ptx.splitlines() if "mma.sync" in line]
    m, n, k = (int(x) for x in re.findall(r"\d+", instruction))
    products = 4 if (dtype, instruction) == ("f16", "m8n8k4") else 1
    assert found == [instruction] * (64 * 32 * 32 // (m * n * k) // 4 // products)
    assert_assembles(ptx, target)


def test_gemm_with_the_instruction_asked_for() -> None:
    ptx = compile_quietly(gemm_kernel("f64", "f64", "sm_90a", 'instruction("m16n8k16")'))
    assert ptx.count("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 ") == 64 * 32 * 32 // (16 * 8 * 16) // 4
    assert_assembles(ptx, "sm_90a")


def gemm_kernel(dtype: str, acc: str, target: str, clause: str = "") -> str:
    zero = "0 : i32" if acc == "i32" else f"0.0 : {acc}"
    a, b, c = f"64x32x{dtype}", f"32x32x{dtype}", f"64x32x{acc}"
    return f"""
      tirx.kernel @gemm(%a: memref<64x128x{dtype}>, %b: memref<32x128x{dtype}>, %d: memref<64x32x{acc}>)
          target("{target}") grid(1) threads(128) {{
        %c0 = arith.constant 0 : index
        %c32 = arith.constant 32 : index
        %c128 = arith.constant 128 : index
        %zero = arith.constant {zero}
        %ra = tirx.alloc : !tirx.tile<{a}, register>
        %rb = tirx.alloc : !tirx.tile<{b}, register>
        %acc = tirx.alloc : !tirx.tile<{c}, register>
        tirx.fill %acc, %zero : {acc}, !tirx.tile<{c}, register>
        scf.for %k = %c0 to %c128 step %c32 {{
          %ga = tirx.view %a[%c0, %k] : memref<64x128x{dtype}> -> !tirx.tile<{a}, global>
          %gb = tirx.view %b[%c0, %k] : memref<32x128x{dtype}> -> !tirx.tile<{b}, global>
          tirx.copy %ga, %ra : !tirx.tile<{a}, global>, !tirx.tile<{a}, register>
          tirx.copy %gb, %rb : !tirx.tile<{b}, global>, !tirx.tile<{b}, register>
          tirx.mma %ra, %rb, %acc {clause} :
            !tirx.tile<{a}, register>, !tirx.tile<{b}, register>, !tirx.tile<{c}, register>
        }}
        %gd = tirx.view %d[%c0, %c0] : memref<64x32x{acc}> -> !tirx.tile<{c}, global>
        tirx.copy %acc, %gd : !tirx.tile<{c}, register>, !tirx.tile<{c}, global>
        tirx.return
      }}"""


@dataclass(frozen=True)
class Operand:
    """A shared operand of 16-bit elements by hand: `rows` x `k` in a major-ness and a swizzle mode."""

    major: str
    mode: SwizzleMode
    rows: int
    k: int

    @property
    def layout(self) -> TileLayout | ComposeLayout:
        rows, k = self.rows, self.k
        if self.mode == "none":
            # Core matrices of 8 rows of 16 bytes: K-major next to each other along the rows, MN-major along K.
            text = {
                "K": f"S[({rows // 8}, 8, {k // 8}, 8) : (64, 8, {rows * 8}, 1)]",
                "MN": f"S[({rows // 8}, 8, {k // 8}, 8) : ({k * 8}, 1, 64, 8)]",
            }[self.major]
            return TileLayout.parse(text)
        row = {"32B": 16, "64B": 32, "128B": 64}[self.mode]
        text = {
            "K": f"S[({rows}, {k // row}, {row}) : ({row}, {rows * row}, 1)]",
            "MN": f"S[({rows // row}, {row}, {k}) : ({k * row}, 1, {row})]",
        }[self.major]
        return ComposeLayout(SwizzleLayout.for_bits(16, self.mode), TileLayout.parse(text))

    @property
    def strides(self) -> tuple[int | None, int]:
        """LBO and SBO in bytes, from the definition of the canonical layouts (PTX ISA 9.7.16.3); None: not read."""
        rows, k = self.rows, self.k
        if self.mode == "none":
            return (rows * 16, 128) if self.major == "K" else (128, k * 16)
        row = {"32B": 32, "64B": 64, "128B": 128}[self.mode]
        chunks = rows * 2 // row
        return (k * row if self.major == "MN" and chunks > 1 else None, 8 * row)

    def memory(self, dtype: str) -> str:
        strides = "" if self.major == "K" else f", strided<[1, {self.rows}]>"
        return f"memref<{self.rows}x{self.k}x{dtype}{strides}>"


@pytest.mark.parametrize("mode", ["none", "32B", "64B", "128B"])
@pytest.mark.parametrize("major", ["K", "MN"])
@pytest.mark.parametrize(("m", "n", "dtype"), [(128, 256, "f16"), (64, 64, "bf16")])
@pytest.mark.sample(1)
def test_tcgen05_descriptors(m: int, n: int, dtype: str, major: str, mode: SwizzleMode) -> None:
    """The constants in the PTX are the descriptors that the value classes encode, and the kernel assembles."""
    operands = {"a": Operand(major, mode, m, 64), "b": Operand(major, mode, n, 64)}
    accumulator = attribute(accumulator_layout(m, n))
    tiles = {name: f"!tirx.tile<{o.rows}x{o.k}x{dtype}, shared, {attribute(o.layout)}>" for name, o in operands.items()}
    loads = "\n".join(
        f"""
        %g{name} = tirx.view %{name}[%c0, %c0] : {o.memory(dtype)} -> !tirx.tile<{o.rows}x{o.k}x{dtype}, global>
        %s{name} = tirx.alloc : {tiles[name]}
        tirx.copy %g{name}, %s{name} : !tirx.tile<{o.rows}x{o.k}x{dtype}, global>, {tiles[name]}"""
        for name, o in operands.items()
    )
    d = f"!tirx.tile<{m}x{n}xf32, tensor, {accumulator}>"
    ptx = tirx.compile(f"""
      tirx.kernel @gemm(%a: {operands["a"].memory(dtype)}, %b: {operands["b"].memory(dtype)}, %d: memref<{m}x{n}xf32>)
          target("sm_100a") grid(1) threads(128) {{
        %c0 = arith.constant 0 : index
        %zero = arith.constant 0.0 : f32
        {loads}
        %acc = tirx.alloc : {d}
        tirx.fill %acc, %zero : f32, {d}
        tirx.mma %sa, %sb, %acc : {tiles["a"]}, {tiles["b"]}, {d}
        %gd = tirx.view %d[%c0, %c0] : memref<{m}x{n}xf32> -> !tirx.tile<{m}x{n}xf32, global>
        tirx.copy %acc, %gd : {d}, !tirx.tile<{m}x{n}xf32, global>
        tirx.return
      }}""")
    for operand in operands.values():
        lbo, sbo = operand.strides
        constant = SmemDescriptor(0, lbo, sbo, mode).encode()
        assert f"0x{constant:016X};" in ptx
    transposed = major == "MN"
    descriptor = InstructionDescriptor("f16", dtype, dtype, "f32", m, n).encode() | transposed << 15 | transposed << 16
    products = [line for line in ptx.splitlines() if "tcgen05.mma." in line]
    assert len(products) == 4
    assert all(f", 0x{descriptor:08X}, " in line for line in products)
    assert products[0].endswith(", 0;") and all(line.endswith(", 1;") for line in products[1:])
    assert_assembles(ptx, "sm_100a")


@pytest.mark.parametrize(
    ("dtype", "accumulator", "kind"),
    [
        ("tf32", "f32", "tf32"),
        ("f8E4M3FN", "f32", "f8f6f4"),
        ("f8E5M2", "f32", "f8f6f4"),
        ("si8", "i32", "i8"),
        ("ui8", "i32", "i8"),
    ],
)
@pytest.mark.sample(1)
def test_other_kinds(dtype: str, accumulator: str, kind: str) -> None:
    """The other dense kinds take the same way: one row of the swizzle of K, with picked layouts."""
    k = {"tf32": 32}.get(kind, 128)
    zero = "0.0 : f32" if accumulator == "f32" else "0 : i32"
    a, b, d = f"128x{k}x{dtype}", f"64x{k}x{dtype}", f"128x64x{accumulator}"
    ptx = tirx.compile(f"""
      tirx.kernel @gemm(%a: memref<{a}>, %b: memref<{b}>, %d: memref<{d}>) target("sm_100a") grid(1) threads(128) {{
        %c0 = arith.constant 0 : index
        %zero = arith.constant {zero}
        %sa = tirx.alloc : !tirx.tile<{a}, shared>
        %sb = tirx.alloc : !tirx.tile<{b}, shared>
        %acc = tirx.alloc : !tirx.tile<{d}, tensor>
        %ga = tirx.view %a[%c0, %c0] : memref<{a}> -> !tirx.tile<{a}, global>
        %gb = tirx.view %b[%c0, %c0] : memref<{b}> -> !tirx.tile<{b}, global>
        tirx.copy %ga, %sa : !tirx.tile<{a}, global>, !tirx.tile<{a}, shared>
        tirx.copy %gb, %sb : !tirx.tile<{b}, global>, !tirx.tile<{b}, shared>
        tirx.fill %acc, %zero : {accumulator}, !tirx.tile<{d}, tensor>
        tirx.mma %sa, %sb, %acc : !tirx.tile<{a}, shared>, !tirx.tile<{b}, shared>, !tirx.tile<{d}, tensor>
        %gd = tirx.view %d[%c0, %c0] : memref<{d}> -> !tirx.tile<{d}, global>
        tirx.copy %acc, %gd : !tirx.tile<{d}, tensor>, !tirx.tile<{d}, global>
        tirx.return
      }}""")
    assert ptx.count(f"tcgen05.mma.cta_group::1.kind::{kind} ") == 4
    assert_assembles(ptx, "sm_100a")


@dataclass(frozen=True)
class Form:
    """A product by its shape and clauses: what its instructions are called and how they come to their operands."""

    shape: tuple[int, int, int]
    operands: str
    accumulator: str
    instruction: str
    clause: str = ""
    a_scope: str = "shared"
    codes: int = 0  # of sparsity metadata for each row

    def kernel(self) -> str:
        m, n, k = self.shape
        a, b, d = (
            f"{rows}x{columns}x{dtype}"
            for rows, columns, dtype in (
                (m, k // 2 if self.codes else k, self.operands),
                (n, k, self.operands),
                (m, n, self.accumulator),
            )
        )
        zero = "0 : i32" if self.accumulator == "i32" else f"0.0 : {self.accumulator}"
        e = f"{m}x{self.codes}xi4"
        metadata = f"""
            %te = tirx.alloc : !tirx.tile<{e}, tensor>
            %ge = tirx.view %e[%c0, %c0] : memref<{e}> -> !tirx.tile<{e}, global>
            tirx.copy %ge, %te : !tirx.tile<{e}, global>, !tirx.tile<{e}, tensor>"""
        clause = f"metadata(%te) {self.clause}" if self.codes else self.clause
        more = f", !tirx.tile<{e}, tensor>" if self.codes else ""
        return f"""
          tirx.kernel @product(%a: memref<{a}>, %b: memref<{b}>, %d: memref<{d}>{f", %e: memref<{e}>" if more else ""})
              target("sm_100a") grid(1) threads(128) {{
            %c0 = arith.constant 0 : index
            %zero = arith.constant {zero}
            %ta = tirx.alloc : !tirx.tile<{a}, {self.a_scope}>
            %tb = tirx.alloc : !tirx.tile<{b}, shared>
            %td = tirx.alloc : !tirx.tile<{d}, tensor>
            %ga = tirx.view %a[%c0, %c0] : memref<{a}> -> !tirx.tile<{a}, global>
            %gb = tirx.view %b[%c0, %c0] : memref<{b}> -> !tirx.tile<{b}, global>
            %gd = tirx.view %d[%c0, %c0] : memref<{d}> -> !tirx.tile<{d}, global>
            tirx.copy %ga, %ta : !tirx.tile<{a}, global>, !tirx.tile<{a}, {self.a_scope}>
            tirx.copy %gb, %tb : !tirx.tile<{b}, global>, !tirx.tile<{b}, shared>
            {metadata if self.codes else ""}
            tirx.fill %td, %zero : {self.accumulator}, !tirx.tile<{d}, tensor>
            tirx.mma %ta, %tb, %td {clause}
                : !tirx.tile<{a}, {self.a_scope}>, !tirx.tile<{b}, shared>, !tirx.tile<{d}, tensor>{more}
            tirx.copy %td, %gd : !tirx.tile<{d}, tensor>, !tirx.tile<{d}, global>
            tirx.return
          }}"""


@pytest.mark.parametrize(
    "form",
    [
        Form((32, 64, 32), "f16", "f32", "ws.cta_group::1.kind::f16", "weight_stationary"),
        Form((64, 256, 16), "tf32", "f32", "ws.cta_group::1.kind::tf32", "weight_stationary"),
        Form((128, 128, 64), "si8", "i32", "ws.cta_group::1.kind::i8", "weight_stationary saturate"),
        Form((128, 64, 32), "f16", "f16", "cta_group::1.kind::f16"),
        Form((64, 64, 64), "f8E5M2", "f16", "cta_group::1.kind::f8f6f4"),
        Form((32, 64, 32), "f16", "f16", "ws.cta_group::1.kind::f16", "weight_stationary"),
        Form((128, 64, 32), "bf16", "f32", "cta_group::1.kind::f16", a_scope="tensor"),
        Form((64, 64, 64), "si8", "i32", "cta_group::1.kind::i8", a_scope="tensor"),
        Form((64, 64, 16), "tf32", "f32", "ws.cta_group::1.kind::tf32", "weight_stationary", a_scope="tensor"),
        Form((32, 64, 32), "f16", "f32", "ws.cta_group::1.kind::f16", "zero_columns([3])", a_scope="tensor"),
        Form((128, 64, 96), "f16", "f32", "sp.cta_group::1.kind::f16", codes=24),
        Form((64, 64, 32), "tf32", "f32", "sp.cta_group::1.kind::tf32", codes=16),
        Form((64, 64, 128), "f8E4M3FN", "f16", "sp.cta_group::1.kind::f8f6f4", codes=32),
        Form((128, 64, 128), "ui8", "i32", "sp.cta_group::1.kind::i8", "saturate", codes=32),
        Form((32, 64, 64), "f16", "f32", "ws.sp.cta_group::1.kind::f16", "weight_stationary", "tensor", 16),
    ],
    ids=lambda form: f"{form.instruction}-{form.operands}-{form.accumulator}-{form.a_scope}",
)
@pytest.mark.sample(1)
def test_product_forms(form: Form) -> None:
    """A row for everything that a dense or sparse product may be beside the plain one; ptxas takes them all."""
    ptx = tirx.compile(form.kernel())
    products = [line.strip() for line in ptx.splitlines() if "tcgen05.mma." in line]
    assert (
        len(products) * 32 * (2 if form.codes else 1) == form.shape[2] * element_type(form.operands).storage_bits // 8
    )
    assert all(line.startswith(f"tcgen05.mma.{form.instruction} [") for line in products)
    # The second operand is an address in brackets for A in tensor memory, else a descriptor.
    assert all(("], [" in line) is (form.a_scope == "tensor") for line in products)
    assert (".pack::16b" in ptx) is (form.accumulator == "f16")
    assert_assembles(ptx, "sm_100a")
