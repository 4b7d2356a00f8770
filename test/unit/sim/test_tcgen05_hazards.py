"""Order of tcgen05.cp, shift, mma, ld and ld.red: what the ISA does not order is reported, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from unit.sim.tensor_kernels import Words, run_tensor_kernel, tensor_kernel, vector
from unit.sim.tensor_operands import k_major
from unit.sim.tensor_products import Product, Scales, build

from tirx.sim import SimError

_SEEDS = (None, 1, 2)
_COLUMNS = 16
_BYTES = np.random.default_rng(1).integers(0, 256, (128, 32), dtype=np.uint8)
_IMAGE = k_major(_BYTES, 0)
_COPY = f"add.s64 %y0, %desc, {_IMAGE.descriptor(0):#x}; tcgen05.cp.cta_group::1.128x256b [%tm], %y0;"
_REFILL = f"add.s64 %y0, %desc, {_IMAGE.descriptor(0):#x}; tcgen05.cp.cta_group::1.4x256b [%tm], %y0;"
_SHIFT = "tcgen05.shift.cta_group::1.down [%tm];"
_SHIFT_WARP_1 = "add.u32 %x0, %tm, 0x200000; tcgen05.shift.cta_group::1.down [%x0];"
# A as f16 is in columns 0-7, D in columns 8-15.
_MMA = f"""add.s64 %y1, %desc, {_IMAGE.descriptor(0):#x}; add.u32 %x1, %tm, 8;
tcgen05.mma.cta_group::1.kind::f16 [%x1], [%tm], %y1, {128 >> 4 << 24 | 16 >> 3 << 17 | 1 << 4:#x}, 0;"""
_SHIFT_D = "tcgen05.shift.cta_group::1.down [%x1];"
_WAIT = """tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%x14];
FIRST: mbarrier.try_wait.parity.shared::cta.b64 %p6, [%x14], 0; @!%p6 bra FIRST;"""


@dataclass(frozen=True)
class _Case:
    """Instructions that one thread issues; `message` is a regular expression, empty where they are in order."""

    name: str
    issue: tuple[str, ...]
    message: str = ""
    without: tuple[str, ...] = ()


_UNORDERED = "that it is in no pipeline with: no commit was waited for"
# The load comes too early, or even before the operation is issued.
_UNWAITED = "of the result of a tcgen05.mma, cp or shift before a commit was waited for|a tcgen05.ld may still read"
_CASES = [
    _Case("copy", (_COPY,)),
    _Case("copy, not waited for", (_COPY,), _UNWAITED, ("wait",)),
    _Case("shift", (_SHIFT,)),
    _Case("shift, not waited for", (_SHIFT,), _UNWAITED, ("wait",)),
    _Case("shift without a commit", (_SHIFT,), "deadlock", ("commit",)),
    _Case("shift without wait::st", (_SHIFT,), "after a tcgen05.st without tcgen05.wait::st", ("wait::st",)),
    _Case(
        "shift of another warp without synchronisation",
        (_SHIFT_WARP_1,),
        "fence::before|never written|wait::st",
        ("sync",),
    ),
    _Case("copy, product", (_COPY, _MMA)),
    _Case("shift, product", (_SHIFT, _MMA)),
    _Case("product, shift of A", (_MMA, _SHIFT)),
    _Case("product, shift of D", (_MMA, _SHIFT_D)),
    _Case("shift, refill", (_SHIFT, _REFILL)),
    _Case("product, shift, refill, product", (_MMA, _SHIFT, _REFILL, _MMA)),
    _Case("shift, copy", (_SHIFT, _COPY), _UNORDERED),
    _Case("copy, shift", (_COPY, _SHIFT), _UNORDERED),
    _Case("refill, shift", (_REFILL, _SHIFT), _UNORDERED),
    _Case("shift, shift", (_SHIFT, _SHIFT), _UNORDERED),
    _Case("shift, wait, shift", (_SHIFT, _WAIT, _SHIFT)),
    _Case("copy, wait, shift", (_COPY, _WAIT, _SHIFT)),
    _Case("shift, wait, copy", (_SHIFT, _WAIT, _COPY)),
    _Case("product, copy over D", (_MMA, _COPY.replace("[%tm]", "[%x1]")), _UNORDERED),
    _Case("product, copy over A", (_MMA, _COPY)),
]


def _words() -> Words:
    values = np.random.default_rng(2).integers(-4, 5, (1, 128, 2 * _COLUMNS)).astype(np.float16)
    return np.ascontiguousarray(values).view(np.uint32)


def _run(case: _Case, seed: int | None) -> Words:
    text = tensor_kernel(_IMAGE.data.size, _COLUMNS, case.issue, (0, _COLUMNS), without=case.without)
    # A second mbarrier, for the issuing thread alone.
    text = text.replace(".shared .align 8 .b64 bar;", ".shared .align 8 .b64 bar; .shared .align 8 .b64 own;")
    made = "mov.b32 %x14, own; @%p1 mbarrier.init.shared::cta.b64 [%x14], 1; @%p1 mbarrier.init"
    text = text.replace("@%p1 mbarrier.init", made)
    return run_tensor_kernel(text, _IMAGE.data[None], _words(), _COLUMNS, seed)


@pytest.mark.parametrize("case", _CASES, ids=lambda case: case.name)
@pytest.mark.sample(4)
def test_order(case: _Case):
    results: list[Words] = []
    for seed in _SEEDS:
        if case.message:
            with pytest.raises(SimError, match=f"(?s)({case.message})"):
                _run(case, seed)
        else:
            results.append(_run(case, seed))
    assert all(np.array_equal(each, results[0]) for each in results)


def test_what_is_in_order_has_its_numbers():
    """Product, shift of A, refill of its first lanes, product: the second has the new A."""
    found = _run(next(case for case in _CASES if case.name == "product, shift, refill, product"), None)[0]
    a = _words()[0, :, :8].copy()
    b = np.ascontiguousarray(_BYTES[:16]).view(np.float16).astype(np.float64)
    a[:31] = a[1:32]
    a[[0, 32, 64, 96]] = np.ascontiguousarray(_BYTES[:4]).view(np.uint32)
    assert np.array_equal(found[:, :8], a)
    with np.errstate(all="ignore"):
        d = (np.ascontiguousarray(a).view(np.float16).astype(np.float64) @ b.T).astype(np.float32)
    rows = np.isfinite(d).all(axis=1) & np.isfinite(b).all()
    assert np.array_equal(found[rows, 8:].view(np.float32), d[rows, :8])


_LOAD = f"tcgen05.ld.red.sync.aligned.32x32b.x4.max.u32 {vector(4)}, %v4, [%r19];"
_STORE = f"tcgen05.st.sync.aligned.32x32b.x4.b32 [%r19], {vector(4, 8)}; tcgen05.wait::st.sync.aligned;"
_DEFINE = " ".join(f"mov.b32 %v{8 + index}, {index};" for index in range(4))


@pytest.mark.parametrize(
    ("epilogue", "message"),
    [
        (f"{_LOAD} tcgen05.wait::ld.sync.aligned;", ""),
        (_LOAD, "register %v0 is read before tcgen05.wait::ld"),
        (f"{_LOAD} mov.b32 %v0, 0; tcgen05.wait::ld.sync.aligned;", "written while a tcgen05.ld to it is not waited"),
        (f"{_LOAD} mov.b32 %v4, 0; tcgen05.wait::ld.sync.aligned;", "register %v4 is written while a tcgen05.ld"),
        (f"{_DEFINE} {_LOAD} tcgen05.wait::ld.sync.aligned; {_STORE}", ""),
        (f"{_DEFINE} {_LOAD} {_STORE} tcgen05.wait::ld.sync.aligned;", "overwrites what a tcgen05.ld may still read"),
    ],
)
def test_loads_that_reduce(epilogue: str, message: str):
    text = tensor_kernel(16, _COLUMNS, [], (0, 5), target="sm_103a", epilogue=epilogue)
    for seed in _SEEDS:
        if message:
            with pytest.raises(SimError, match=message):
                run_tensor_kernel(text, np.zeros((1, 16), np.uint8), _words(), 5, seed)
        else:
            run_tensor_kernel(text, np.zeros((1, 16), np.uint8), _words(), 5, seed)


_SCALED = Product("mxf8f6f4", "e4m3", "e4m3", 128, 32, scales=Scales("block32", 1), steps=1, sparse=True)


@pytest.mark.parametrize("step", ["sync", "wait::st", ""])
@pytest.mark.parametrize(
    "product",
    [_SCALED, replace(_SCALED, ctas=2, m=256), replace(_SCALED, a_in_tensor_memory=True)],
    ids=str,
)
@pytest.mark.sample(2)
def test_metadata_and_factors_are_stored_before(product: Product, step: str):
    case = build(product, without=(step,) if step else ())
    for seed in _SEEDS:
        if step:
            with pytest.raises(SimError, match=r"fence::before_thread_sync|without tcgen05.wait::st|never written"):
                case.run(seed=seed)
        else:
            assert np.array_equal(case.run(seed=seed), case.expected)


@pytest.mark.parametrize(("operand", "name"), [("%x2", "metadata"), ("%x3", "SFA"), ("%x4", "SFB")])
@pytest.mark.sample(1)
def test_metadata_and_factors_are_not_written_in_flight(operand: str, name: str):
    """A store by another warp to what a product reads, before that is waited for."""
    case = build(_SCALED)
    column = {"metadata": 32, "SFA": 48, "SFB": 96}[name]
    assert f"{operand}, %tm, {column if name != 'metadata' else '0x20'};" in case.text
    store = f"add.u32 %r20, %r19, {column}; mov.b32 %v0, 0; tcgen05.st.sync.aligned.32x32b.x1.b32 [%r20], {{%v0}};"
    for seed in _SEEDS:
        with pytest.raises(SimError, match="shift that was not waited for|after a tcgen05.st without"):
            case.run(case.text.replace("WAIT:", f"WAIT: bar.warp.sync 0xffffffff; {store}", 1), seed)
