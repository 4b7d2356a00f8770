"""Refusals of the simulator: operands in tensor memory, bulk copies in clusters and tensor maps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from unit.cases import together
from unit.sim.tensor_products import Product, Scales, build

from tirx.sim import SimError, TensorMap, run

_Words = NDArray[np.uint32]
_BLOCKS = Product("mxf8f6f4", "e4m3", "e4m3", 128, 32, steps=1, scales=Scales("scale_vec::1X", 1))


def _codes(words: _Words) -> None:
    words[:, :, 32:] = 0


def _group_of_a(words: _Words) -> None:
    words[:, 32:64, 0] ^= 1


def _group_of_factors(words: _Words) -> None:
    words[:, 32:64, 48] ^= 1


def _second_block(words: _Words) -> None:
    words[1, :, 96:128] ^= 1


def _signs(words: _Words) -> None:
    words[:, :, 48] ^= 0x80


def _nothing(words: _Words) -> None:
    pass


@pytest.mark.parametrize(
    ("product", "change", "replaced", "message"),
    [
        (
            Product("f16", "f16", "f16", 128, 32, steps=1, sparse=True),
            _codes,
            (),
            "the sparsity metadata of tcgen05.mma.sp: code 0b0000 of row 0, chunk 0: expected one of 0b0100, 0b1000, ",
        ),
        (
            Product("f16", "f16", "f16", 128, 32, steps=1, sparse=True),
            _nothing,
            ("%tm, 0x20;", "%tm, 0x21;"),
            "the sparsity metadata of tcgen05.mma.sp: expected an even column, found 33",
        ),
        (
            Product("f16", "f16", "f16", 32, 64, steps=1, weight_stationary=True, a_in_tensor_memory=True),
            _group_of_a,
            (),
            "tcgen05.mma.ws A: layout G needs the same in every group of 32 lanes, but the copies differ",
        ),
        (_BLOCKS, _group_of_factors, (), "tcgen05.mma SFA: expected the same factors in every group of 32 lanes"),
        (_BLOCKS, _nothing, ("%tm, 48;", "%tm, 65584;"), "tcgen05.mma SFA: expected lane 0, found lane 1"),
        (
            Product("mxf8f6f4", "e4m3", "e4m3", 256, 64, steps=1, ctas=2, scales=Scales("scale_vec::1X", 1)),
            _second_block,
            (),
            "tcgen05.mma SFB: expected the same factors in both CTAs",
        ),
        (
            Product("mxf4nvf4", "e2m1", "e2m1", 128, 32, steps=1, scales=Scales("scale_vec::4X", 4, "ue4m3")),
            _signs,
            (),
            "tcgen05.mma SFA: a ue4m3 has no sign, but bit 7 is set",
        ),
        (
            Product("mxf4nvf4", "e2m1", "e2m1", 128, 32, steps=1, scales=Scales("scale_vec::2X", 2, "ue4m3")),
            _nothing,
            (),
            "tcgen05.mma SFA: expected factors of type ue8m0 for 32 elements, not ue4m3",
        ),
    ],
)
def test_operands(product: Product, change: Callable[[_Words], None], replaced: tuple[str, ...], message: str):
    case = build(product)
    change(case.words)
    with pytest.raises(SimError) as found:
        case.run(case.text.replace(replaced[0], replaced[1]) if replaced else case.text)
    assert found.value.message.startswith(message)


_HEADER = ".version 9.0\n.target sm_100a\n.address_size 64\n.global .align 128 .b8 g[4096];\n"
_BODY = (
    ".reg .pred %p<4>; .reg .b16 %h<4>; .reg .b32 %r<12>; .reg .b64 %d<8>; .shared .align 128 .b8 s[4096]; "
    ".shared .align 16 .b8 t[16]; .shared .align 8 .b64 b; "
)
_BARRIER = (
    "mbarrier.init.shared.b64 [b], 1; fence.mbarrier_init.release.cluster; barrier.cluster.arrive; "
    "barrier.cluster.wait; mov.u32 %r9, %cluster_ctarank; setp.ne.u32 %p1, %r9, 0; @%p1 bra E; "
    "mapa.shared::cluster.u32 %r2, s, 1; mapa.shared::cluster.u32 %r3, s, 2; "
)
_COMPLETE = "mbarrier::complete_tx::bytes"
_IMAGES = np.zeros((2, 8, 8, 16), np.float16)
_ROWS = np.zeros((64, 64), np.float16)


def _refusal(text: str, cluster: int, arguments: list[Any], check: bool = True, threads: int = 1) -> str:
    parameters = ".param .u64 m" if arguments else ""
    with pytest.raises(SimError) as found:
        run(
            f"{_HEADER}.visible .entry k({parameters}) {{ {_BODY} {text} ret; }}",
            *("k", cluster, threads, arguments),
            cluster=cluster,
            check=check,
        )
    return found.value.message


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        (
            f"cp.async.bulk.shared::cluster.shared::cta.{_COMPLETE} [%r2], [%r2], 16, [b];",
            "cp.async.bulk: expected a source in the CTA's own shared memory, found that of CTA 1",
        ),
        (
            "mov.u32 %r5, 16; mov.u32 %r6, 0; "
            f"cp.async.bulk.shared::cta.global.{_COMPLETE}.ignore_oob [s], [g], 64, %r5, %r6, [b];",
            "cp.async.bulk: expected up to 15 ignored bytes, found 16 and 0",
        ),
        (
            "mov.u32 %r5, 15; mov.u32 %r6, 16; "
            f"cp.async.bulk.shared::cta.global.{_COMPLETE}.ignore_oob [s], [g], 64, %r5, %r6, [b];",
            "cp.async.bulk: expected up to 15 ignored bytes, found 15 and 16",
        ),
        (
            "mov.u32 %r5, 9; mov.u32 %r6, 8; "
            f"cp.async.bulk.shared::cta.global.{_COMPLETE}.ignore_oob [s], [g], 16, %r5, %r6, [b];",
            "cp.async.bulk: expected up to 15 ignored bytes, found 9 and 8",
        ),
        (
            f"cp.reduce.async.bulk.shared::cluster.shared::cta.{_COMPLETE}.add.u32 [%r2], [s], 16, [b];",
            "cp.reduce.async.bulk: expected the mbarrier in the CTA of the target",
        ),
        (
            ".shared .align 8 .b8 u[23]; "
            f"cp.reduce.async.bulk.shared::cluster.shared::cta.{_COMPLETE}.add.u32 [u+8], [s], 16, [b];",
            "out-of-bounds shared cp.reduce.async.bulk of 1 bytes at 0x142f: variables are in "
            "[0x400, 0x1400), [0x1400, 0x1410), [0x1410, 0x1418), [0x1418, 0x142f)",
        ),
    ],
)
def test_bulk_copies(statement: str, message: str):
    assert _refusal(f"{_BARRIER} {statement} E:", 4, [], check=False) == message


def _read_only() -> np.ndarray:
    images = _IMAGES.copy()
    images.flags.writeable = False
    return images


_STORE = "cp.async.bulk.tensor.{} [s]; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"
_COLUMN = "4d.global.shared::cta.im2col_no_offs.bulk_group [%d7, {0, 0, 0, 0}],"
_LOAD = "cp.async.bulk.tensor.{}d.{}.global.{}.mbarrier::complete_tx::bytes"


@pytest.mark.parametrize(
    ("tensor", "statement", "message"),
    [
        (
            TensorMap(_ROWS, (64, 8)),
            f"{_LOAD.format(2, 'shared::cta', 'tile')} [%r2], [%d7, {{0, 0}}], [b];",
            "cp.async.bulk.tensor: expected target and mbarrier in the CTA's own shared memory with .shared::cta",
        ),
        (
            TensorMap(_ROWS, (64, 8)),
            f"{_LOAD.format(2, 'shared::cluster', 'tile')}.cta_group::2 [%r3], [%d7, {{0, 0}}], [b];",
            "cp.async.bulk.tensor: expected the mbarrier in the pair of CTAs of the target, found CTAs 0 and 2",
        ),
        (
            TensorMap(_ROWS, (64, 8)),
            f"{_LOAD.format(2, 'shared::cta', 'tile')} [s+16], [%d7, {{0, 0}}], [b];",
            "expected a multiple of 128 as the shared memory address of a box, found 0x410",
        ),
        (
            TensorMap(_ROWS, (64, 8)),
            "cp.reduce.async.bulk.tensor.2d.global.shared::cta.and.tile.bulk_group [%d7, {0, 0}], [s];",
            "expected elements of type u32, s32, u64, s64 with .and, found .f16",
        ),
        (
            TensorMap(_ROWS, (64, 2), swizzle="128B_atom_32B_flip_8B"),
            _STORE.format("2d.global.shared::cta.tile.bulk_group [%d7, {0, 0}],"),
            "cp.async.bulk.tensor: expected a copy to shared memory with swizzle 128B_atom_32B_flip_8B and with .b4x16",
        ),
        (
            TensorMap.im2col(_IMAGES, (-1, -1), (0, 0), 16, 8),
            _STORE.format(_COLUMN),
            "cp.async.bulk.tensor: expected a bounding box within the tensor in a store, found Im2col(lower=(-1, -1)",
        ),
        (
            TensorMap.im2col(_read_only(), (0, 0), (0, 0), 16, 8),
            _STORE.format(_COLUMN),
            "cp.async.bulk.tensor to a tensor that is read-only",
        ),
        (
            TensorMap.im2col(_IMAGES, (0, 0), (0, 0), 16, 8),
            f"mov.u16 %h1, 300; mov.u16 %h2, 0; {_LOAD.format(4, 'shared::cta', 'im2col')} [s], "
            "[%d7, {0, 0, 0, 0}], [b], {%h1, %h2};",
            "expected im2col offsets from 0 to 255, found (300, 0)",
        ),
        (
            TensorMap.im2col(_IMAGES, (0, 0), (0, 0), 16, 8),
            f"mov.u16 %h1, 0; mov.u16 %h2, 600; {_LOAD.format(4, 'shared::cta', 'im2col::w')} [s], "
            "[%d7, {0, 0, 0, 0}], [b], {%h1, %h2};",
            "expected a W offset from 0 to 31, found 600",
        ),
    ],
)
def test_tensor_copies(tensor: TensorMap, statement: str, message: str):
    text = f"{_BARRIER} ld.param.u64 %d7, [m]; {statement} E:"
    assert _refusal(text, 4, [tensor], check=False).startswith(message)


_ALLOC = (
    "mov.u32 %r5, %tid.x; shl.b32 %r6, %r5, 3; mov.u32 %r7, s; add.u32 %r7, %r7, %r6; st.shared.u64 [%r7], 0; "
    "setp.ne.u32 %p1, %r5, 0; tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [t], 64; fence.proxy.async; "
    "bar.sync 0; ld.shared.u32 %r9, [t]; mov.u32 %r2, 0; mov.u64 %d1, 0x400800080040; mov.u64 %d2, 0; "
    "setp.eq.u32 %p2, 0, 1; "
)
_FREE = "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r9, 64;"


@together(
    ("statement", "message"),
    [
        (
            "add.u32 %r8, %r9, 1048576; tcgen05.st.sync.aligned.32x32b.x1.b32 [%r8], {%r2};",
            "expected lane 0 in the address of a 32x32b access by warp 0 (it may touch lanes 0-31), found 16",
        ),
        (
            "tcgen05.st.sync.aligned.32x32b.x1.b32 [%r9], {%r2}; tcgen05.wait::st.sync.aligned; "
            "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r2}, [%r9]; @%p1 ret;",
            "the thread exits before tcgen05.wait::ld of register %r2",
        ),
        (
            "@%p1 bra E; add.u32 %r8, %r9, 131072; tcgen05.cp.cta_group::1.128x256b [%r8], %d1; E:",
            "tcgen05.cp.128x256b: expected lane 0 in the destination, found 2",
        ),
        (
            f"@%p1 bra E; tcgen05.cp.cta_group::1.4x256b [%r9], %d1; E: bar.warp.sync -1; {_FREE}",
            "tcgen05.dealloc of columns that a tcgen05.mma, cp or shift may use: no commit was waited for",
        ),
        (
            "@%p1 bra E; add.u32 %r8, %r9, 1048576; mov.u32 %r5, 0x08080010; "
            "tcgen05.mma.cta_group::1.kind::f16 [%r9], [%r8], %d2, %r5, %p2; E:",
            "tcgen05.mma: expected A at lane 0, like D, found lane 16",
        ),
        (
            "@%p1 bra E; mov.u32 %r5, 0x08088010; tcgen05.mma.cta_group::1.kind::f16 [%r9], [%r9], %d2, %r5, %p2; E:",
            "tcgen05.mma: A in tensor memory cannot be MN-major",
        ),
    ],
)
def test_tensor_memory(statement: str, message: str):
    assert _refusal(_ALLOC + statement, 1, [], threads=32) == message


def test_packed_images():
    columns = TensorMap.im2col(_IMAGES, (0, 0), (0, 0), 16, 8).columns
    with pytest.raises(SimError, match="tensor map: im2col of .b4x16 is not simulated"):
        TensorMap(np.zeros((2, 8, 8, 16), np.uint8), (16, 1, 1, 1), packing="b4x16", columns=columns)
