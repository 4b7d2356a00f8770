"""Variants of a kernel: a launch takes the one whose conditions hold for its sizes."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from sweeps.linalg_products import program as product
from xdsl.context import Context
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import FloatAttr, ModuleOp
from xdsl.dialects.func import FuncOp

import tirx
from tirx import embed
from tirx.diagnostics import LocatedError
from tirx.dialects.formula import LaunchSizes
from tirx.dialects.tirx import kernels
from tirx.passes.match.variant_choice import candidates, times_of
from tirx.passes.pipeline import OptionError
from tirx.passes.products.tirx_tile_linalg import TirxTileLinalgPass
from tirx.runtime import launch_tiles
from tirx.runtime import program as programs
from tirx.runtime.arrays import ArgumentError
from tirx.runtime.comparison import Case, Problem
from tirx.runtime.launch import Launch
from tirx.runtime.launch_tiles import LaunchTiles
from tirx.runtime.program import Kernel, Program
from tirx.runtime.simulation import view_arguments
from tirx.text.verification import CheckError
from tirx.tools import tirx_check

_COPY = """
tirx.kernel @NAME(%a: memref<?x8xf32>, %d: memref<?xTYPE>) target("sm_80") grid(1) threads(32) attributes {ATTRIBUTES} {
  %c0 = arith.constant 0 : index
  %one = arith.constant ONE : f32
  %t = tirx.alloc : !tirx.tile<1xf32, register>
  tirx.fill %t, %one : f32, !tirx.tile<1xf32, register>
  %x = tirx.view %d[%c0] clipped : memref<?xTYPE> -> !tirx.tile<1xf32, global>
  tirx.store %t, %x : !tirx.tile<1xf32, register>, !tirx.tile<1xf32, global>
  tirx.return
}"""


def _kernel(name: str, number: float, attributes: str = "", type_: str = "f32") -> str:
    words = {"NAME": name, "ONE": str(number), "ATTRIBUTES": attributes, "TYPE": type_}
    text = _COPY
    for word, value in words.items():
        text = text.replace(word, value)
    return text


def _when(entry: str, *most: int) -> str:
    conditions = (f'[#ptx.formula<size(0, 0)>, "at_most", #ptx.formula<{each}>, ""]' for each in most)
    return "[" + ", ".join([f'"{entry}"', *conditions]) + "]"


_DISPATCH = f"tirx.variants = [{_when('few', 4)}, {_when('fill', 8)}, {_when('some', 100, 50)}]"
_TEXT = _kernel("few", 1.0) + _kernel("some", 2.0) + _kernel("fill", 3.0, _DISPATCH)


@pytest.mark.parametrize(("rows", "expected"), [(1, 1), (4, 1), (5, 3), (8, 3), (9, 2), (50, 2), (51, 3), (1000, 3)])
def test_the_first_variant_that_fits_is_launched(rows: int, expected: int) -> None:
    for program in (built := tirx.build(_TEXT), Program.from_json(built.to_json())):
        assert list(program.kernels) == ["fill"] and list(program.variants) == ["few", "some"]
        d = np.zeros(1, np.float32)
        program.kernels["fill"].simulate(np.zeros((rows, 8), np.float32), d)
        assert d[0] == expected


@pytest.mark.parametrize(
    ("other", "attributes", "message"),
    [
        ("few", _when("none", 4), "found 'none'"),
        ("few", _when("few", 4).replace('"few", ', '"few", 7, '), "in tirx.variants, found 7"),
        ("few", "3", "expected [entry, requirement, ...] in tirx.variants, found 3"),
    ],
)
def test_faulty_variants(other: str, attributes: str, message: str) -> None:
    text = _kernel(other, 1.0) + _kernel("fill", 3.0, f"tirx.variants = [{attributes}]")
    with pytest.raises(LocatedError) as found:
        tirx.build(text)
    assert message in found.value.diagnostic.message


def test_variants_take_the_same_arguments() -> None:
    text = _kernel("few", 1.0).replace("?x8xf32", "?x9xf32") + _kernel("fill", 3.0, f"tirx.variants = [{_when('few')}]")
    with pytest.raises(LocatedError, match="expected an entry of the same arguments, without variants, found 'few'"):
        tirx.build(text)


def test_variants_are_checked_as_kernels_are(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """By `tirx-check`, and by `verify` in the simulator."""
    path, run, launched = tmp_path / "fill.mlir", Case.simulated, set[str]()
    path.write_text(_TEXT)
    assert tirx_check.main([str(path)]) == 0 == tirx_check.main([str(path), "--kernel", "few"])

    def simulated(case: Case, ptx: str, launch: Launch, **options: Any) -> Problem | None:
        launched.add(launch.entry)
        return run(case, ptx, launch, **options)

    monkeypatch.setattr(Case, "simulated", simulated)
    tirx.build(_TEXT, verify=True, salt="seen")
    assert launched == {"few", "some", "fill"}


def test_variants_mean_what_their_function_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pass that makes one variant wrong is found, though all passes behind it keep what that does."""
    right = TirxTileLinalgPass.apply

    def wrong(self: TirxTileLinalgPass, ctx: Context, op: ModuleOp) -> None:
        right(self, ctx, op)
        for kernel in kernels(op):
            for each in kernel.walk() if kernel.sym_name.data != "matmul" else ():
                if isinstance(each, ConstantOp) and isinstance(each.value, FloatAttr):
                    each.properties["value"] = FloatAttr(1.0, each.value.type)

    monkeypatch.setattr(TirxTileLinalgPass, "apply", wrong)
    text = product("f16", ("?", 16, 16), True)  # pyright: ignore
    program = tirx.build(text, "sm_80", options="variants=2", salt="wrong")
    program.kernels["matmul"].check(seconds=0)
    with pytest.raises(CheckError, match="; first behind tirx-tile-linalg"):
        next(iter(program.variants.values())).check(seconds=0)


def test_variants_have_names_that_no_other_kernel_of_the_file_has() -> None:
    nested = f"module {{ {product('f16', ('?', 16, 16), True)} }}"  # pyright: ignore
    module = embed.parse(nested)
    embed.run(module, embed.pipeline("sm_80", "variants=2")[:1])  # the tiles of each variant
    (taken,) = {each.sym_name.data for each in kernels(module)} - {"matmul"}
    program = tirx.build(nested + _kernel(taken, 1.0), "sm_80", options="variants=2")
    assert program.kernels.keys() == {"matmul", taken} and f"{taken}_2" in program.variants


@pytest.fixture(scope="module")
def open_product() -> Kernel:
    """A product of M rows, which only a launch knows."""
    text = product("f16", ("?", 264, 72), True)  # pyright: ignore
    return tirx.build(text, "sm_90a", options="variants=3").kernels["matmul"]


@pytest.mark.sample(1)
@pytest.mark.parametrize("rows", [1, 100, 600])
def test_products_of_any_size_equal_numpy(open_product: Kernel, rows: int) -> None:
    """K is no multiple of a step, N none of a tile; strict checks, and more than one variant is taken."""
    rng = np.random.default_rng(rows)
    a, b = (rng.integers(-2, 3, shape).astype(np.float16) for shape in ((rows, 72), (72, 264)))
    d = np.full((rows, 264), 7, np.float32)
    open_product.simulate(a, b.T, d)
    assert np.array_equal(d, a.astype(np.float32) @ b.astype(np.float32))


@pytest.mark.sample(1)
def test_products_of_open_sizes_by_tcgen05_equal_numpy() -> None:
    """No size is known: tiles end within M, N and K, which may be empty; several kernels are launched."""
    kernel = tirx.build(product("f16", ("?", "?", "?"), True), "sm_100a", options="variants=4").kernels["matmul"]  # pyright: ignore
    taken: set[str | None] = set()
    for m, n, k in ((5, 8, 0), (0, 8, 8), (1, 40, 136), (129, 24, 24)):
        rng = np.random.default_rng(m)
        a, b = (rng.integers(-2, 3, shape).astype(np.float16) for shape in ((m, k), (k, n)))
        d = np.full((m, n), 7, np.float32)
        kernel.simulate(a, b.T, d)
        assert np.array_equal(d, a.astype(np.float32) @ b.astype(np.float32))
        taken.add(kernel.launch.variant(LaunchSizes([a.shape, b.T.shape, d.shape], [], 2)))
    assert len(taken) > 1


@pytest.fixture(scope="module")
def tiled_at_launch() -> Program:
    """A product of no known size in two variants, whose launches may compile others."""
    return tirx.build(_OPEN, "sm_90a", options="variants=2", compile_at_launch=True)


_OPEN = product("f16", ("?", "?", "?"), True)  # pyright: ignore
_TWO = _OPEN.replace("@matmul", "@other") + _OPEN


def _taken_by(kernel: Kernel, size: tuple[int, int, int]) -> Kernel:
    """The kernel that a launch takes, as the simulator says and as a GPU would."""
    m, n, k = size
    arrays = np.zeros((m, k), np.float16), np.zeros((k, n), np.float16).T, np.zeros((m, n), np.float32)
    sizes = LaunchSizes([each.shape for each in arrays], [], 2)
    taken, device = kernel.variant(sizes) or kernel, SimpleNamespace(sm_count=2)
    launcher, bound = kernel.launcher.bound(view_arguments(kernel.launch, arrays), device, None)  # pyright: ignore
    assert launcher is taken.launcher and bound.launch == taken.launch
    return taken


@pytest.mark.sample(1)
def test_launches_compile_the_best_tile_where_variants_are_slower(tiled_at_launch: Program) -> None:
    """By the model; sizes with the same tile have one kernel, and all equal numpy."""
    kernel, tiles = tiled_at_launch.kernels["matmul"], tiled_at_launch.launch_tiles
    own = {kernel, *tiled_at_launch.variants.values()}
    assert _taken_by(kernel, (0, 8, 8)) in own and tiles is not None and not tiles.kernels
    first = _taken_by(kernel, (600, 264, 72))
    assert first not in own and _taken_by(kernel, (600, 264, 80)) is first and len(tiles.kernels) == 1
    few = _taken_by(kernel, (5, 40, 72))
    assert few is not first and few.launch.entry == "matmul" and not few.launch.variants
    rng = np.random.default_rng(5)
    for k in (72, 71):  # rows of 142 bytes are copied by threads
        a, b = (rng.integers(-2, 3, shape).astype(np.float16) for shape in ((5, k), (k, 40)))
        d = np.full((5, 40), 7, np.float32)
        kernel.simulate(a, b.T, d)
        assert np.array_equal(d, a.astype(np.float32) @ b.astype(np.float32))
        assert kernel.check(a, b.T, d).launches == 1


def test_no_launch_loses_more_than_three_percent_where_it_may_compile(tiled_at_launch: Program) -> None:
    """By the model, beside the best of all candidates; the kernels are those of the best ones."""
    asked: list[str] = []

    def make(entry: str, module: ModuleOp, target: str | None, options: str) -> str:
        assert (entry, target, options[:11]) == ("matmul", "sm_90a", "variants=2 ")
        assert [op.sym_name.data for op in module.walk() if isinstance(op, FuncOp)] == ["matmul"]
        asked.append(options)
        return options

    kernel, tiles = tiled_at_launch.kernels["matmul"], LaunchTiles(_TWO, "sm_90a", "variants=2", make)
    for size in ((1, 2112, 7168), (77, 1000, 1000), (4096, 4096, 4096), (3000, 8, 640), (8192, 7168, 2048)):
        m, n, k = size
        sizes = LaunchSizes([(m, k), (n, k), (m, n)], [], 132)
        place = kernel.launch.place(sizes)
        assert place is not None
        asked.clear()
        taken = tiles.kernel("matmul", place, sizes)
        open_product = tiles.products["matmul"]
        assert open_product is not None
        for each, choice in zip(kernel.launch.variants, open_product.variants, strict=True):
            shape = f"{choice.tile.rows}x{choice.tile.columns}"
            assert each.entry == ("matmul" if choice is open_product.variants[0] else f"matmul_{shape}")
        found = candidates(open_product.operands, open_product.target, open_product.schedules)
        times = times_of(found, open_product.operands, size)[:, 0]
        kind = open_product.variants[place].tile.kind
        row = next(i for i, each in enumerate(found) if each.kind == kind)
        assert (taken is None) is bool(times[row] <= 1.03 * times.min()), size
        if asked:
            assert asked == [f"variants=2 sizes={m}x{n}x{k}"]
            assert open_product.best(size)[0].tile.kind == found[int(times.argmin())].kind
    assert len(tiles.kernels) > 2


def test_tiles_of_launches_are_kept_on_disk_and_compiled_once_by_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = product("f16", ("?", 40, 72), True)  # pyright: ignore
    words: dict[str, Any] = {"options": "variants=1", "cache_directory": tmp_path, "compile_at_launch": True}
    kernel, sizes = (
        tirx.build(text, "sm_80", **words).kernels["matmul"],
        LaunchSizes([(3, 72), (40, 72), (3, 40)], [], 2),
    )
    assert [each.entry for each in kernel.launch.variants] == ["matmul"] and len(list(tmp_path.iterdir())) == 1
    with ThreadPoolExecutor(4) as pool:
        first, *others = pool.map(kernel.variant, [sizes] * 4)
    assert first is not None and all(each is first for each in others) and len(list(tmp_path.iterdir())) == 2
    again = pickle.loads(pickle.dumps(kernel))
    monkeypatch.setattr(programs, "_cache", {})
    stored = {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    for each in (again, tirx.build(text, "sm_80", **words).kernels["matmul"]):
        found = each.variant(sizes)
        assert found is not None and found.program.ptx == first.program.ptx
    assert {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == stored


def test_one_kernel_for_given_sizes() -> None:
    """It takes all sizes, and is the variant that is best for these."""
    text = product("f16", ("?", 264, 72), True)  # pyright: ignore
    few, many = (tirx.build(text, "sm_90a", options=f"sizes={m}x264x72").kernels["matmul"] for m in (1, 600))
    assert not few.program.variants and not few.launch.variants and few.launch.grid != many.launch.grid
    for word in ("1x2", "1x2x0", "1x2x3x4", "axbxc", "1x2x", "1.5x2x3"):
        with pytest.raises(OptionError, match=f"expected sizes=MxNxK, numbers of 1 or more, found 'sizes={word}'"):
            tirx.build(text, "sm_90a", options=f"sizes={word}")


def test_variants_are_launched_where_the_kernel_itself_has_too_many_blocks() -> None:
    """In the simulator and as on a GPU, which has at most 65535 blocks along y."""
    main = _kernel("fill", 3.0, f"tirx.variants = [{_when('few', 70_000)}]").replace("grid(1)", "grid(1, size(0, 0))")
    kernel = tirx.build(_kernel("few", 1.0) + main).kernels["fill"]
    a, d = np.zeros((70_000, 8), np.float32), np.zeros(1, np.float32)
    kernel.simulate(a, d)
    assert d[0] == 1
    device: Any = SimpleNamespace(sm_count=2)
    _, bound = kernel.launcher.bound(view_arguments(kernel.launch, [a, d]), device, None)
    assert bound.launch.entry == "few" and bound.grid == (1, 1, 1)
    with pytest.raises(ArgumentError, match="expected a grid of at most"):
        kernel.simulate(np.zeros((70_001, 8), np.float32), d)


def test_few_rows_have_other_tiles_than_many(open_product: Kernel) -> None:
    launch = open_product.launch
    assert len({each.entry for each in launch.variants}) == 3 == len(open_product.program.variants) + 1
    taken = {launch.variant(LaunchSizes([(m, 72), (264, 72), (m, 264)], [], 132)) for m in (1, 20, 100, 600, 9000)}
    assert len(taken) > 1


def test_the_least_cost_wins_among_those_whose_conditions_hold() -> None:
    """Costs are formulas of sizes, in the attribute, in the descriptor and in its JSON."""

    def costs(entry: str, cost: str, most: int) -> str:
        return _when(entry, most).replace(", ", f", #ptx.formula<{cost}>, ", 1)

    listed = (
        costs("few", "mul(ceildiv(size(0, 0), 4), 10)", 1000),
        costs("fill", "add(30, max(min(size(0, 0), 1), -1))", 1000),
        costs("some", "mul(sm_count(), stride(0, 1))", 60),
    )
    text = _kernel("few", 1.0) + _kernel("some", 2.0) + _kernel("fill", 3.0, f"tirx.variants = [{', '.join(listed)}]")
    launch = tirx.build(text).kernels["fill"].launch
    for each in (launch, Launch.from_json(launch.to_json())):
        for rows, expected in ((12, "few"), (13, None), (1000, None), (61, None)):
            assert each.variant(LaunchSizes([(rows, 8), ()], [(8, 1), ()], 132)) == expected
        assert each.variant(LaunchSizes([(60, 8), ()], [(8, 1), ()], 20)) == "some"


def test_sizes_of_launches_are_forgotten_but_kernels_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch_tiles, "_MOST", 2)
    tiles = LaunchTiles[str]("", None, "", Mock())
    asked: list[int] = []

    def kernel(entry: str, place: int, sizes: LaunchSizes) -> str:
        asked.append(sizes.shapes[0][0])
        return "kernel"

    monkeypatch.setattr(tiles, "_kernel", kernel)
    for n in (1, 2, 1, 2, 3, 3, 1):
        assert tiles.kernel("entry", 0, LaunchSizes([(n,)], [], 2)) == "kernel"
    assert asked == [1, 2, 3, 1]
