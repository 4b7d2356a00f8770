"""Every form of every instruction of the dialects ptx, tcgen05 and wgmma: products of the modifiers' tables, legal and
illegal ones together.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import product

from xdsl.dialects.builtin import bf16, f16, f32, f64, i1, i16, i32, i64
from xdsl.dialects.test import TestOp as AnyOp
from xdsl.ir import Attribute, SSAValue

from tirx.dialects import ptx, tcgen05, wgmma
from tirx.dialects.ptx import (
    atomics,
    cp_async,
    matrix,
    memory,
    mma,
    packed,
    reductions,
    sync,
    tma,
    warp,
)
from tirx.dialects.ptx.base import PTXInstruction, width
from tirx.dialects.ptx.table import TableInstruction
from tirx.dialects.tcgen05 import Collector, MmaKind, MmaOp
from tirx.hw.features import FEATURES
from tirx.hw.targets import PtxVersion
from tirx.mma.fragments import VARIANTS
from tirx.tcgen05.block_scale import SCALE_VECTORS
from tirx.tcgen05.check_memory import CP_SHAPES, CP_SOURCES
from tirx.tcgen05.mma_rules import COLLECTOR_BUFFERS
from tirx.tcgen05.tmem_access import LD_SHAPES
from tirx.wgmma.kinds import KINDS as WGMMA_KINDS
from tirx.wgmma.kinds import Form as WgmmaForm

Rejected = Callable[[Sequence[Sequence[str]], str, PtxVersion], dict[str, str]]
NEWEST = max(row.ptx for row in FEATURES.values())
TABLE = [op for op in ptx.PTX.operations if issubclass(op, TableInstruction)]
FLAG = (False, True)
COLLECTORS = (None, *Collector)
KINDS = tuple(MmaKind)
SHAPES = tuple(LD_SHAPES)


def _value(type_: Attribute) -> SSAValue:
    return AnyOp(result_types=[type_]).results[0]


PREDICATE, MASK, WORD, OTHER, WIDE, FLOAT = (_value(t) for t in (i1, i16, i32, i32, i64, f32))
HALF, BRAIN, DOUBLE = _value(f16), _value(bf16), _value(f64)
DESCRIPTOR_OR_ADDRESS = (WIDE, OTHER)


def _words(number: int) -> list[SSAValue]:
    return [WORD] * number


def _allocation() -> Iterator[PTXInstruction]:
    for group, columns in product((1, 2), (32, 64, 128, 256, 512, 0, 16, 48, 1024, OTHER)):
        count = {"columns": columns} if isinstance(columns, int) else {"columns_register": columns}
        yield tcgen05.AllocOp(WORD, cta_group=group, **count)
        yield tcgen05.DeallocOp(WORD, cta_group=group, **count)
    for group, columns in product((1, 2), (32, 96, 512, 544, 576)):
        yield tcgen05.AllocOp(WORD, cta_group=group, columns=columns, exclusive=True)
        yield tcgen05.DeallocOp(WORD, cta_group=group, columns=columns, exclusive=True)
    for group in (1, 2):
        yield tcgen05.RelinquishAllocPermitOp(group)
        for masks, reads_a in product(({}, {"multicast": MASK}, {"multicast_32b": WORD}), FLAG):
            yield tcgen05.CommitOp(WORD, group, **masks, reads_a=reads_a)
        yield tcgen05.ShiftOp(WORD, group)
    yield from map(tcgen05.WaitOp, tcgen05.WaitFor)
    yield from map(tcgen05.FenceOp, tcgen05.FencePosition)


def _copies() -> Iterator[PTXInstruction]:
    multicasts = dict.fromkeys(m for row in CP_SHAPES.values() for m in row.multicasts)
    for shape, multicast, format_, group in product(CP_SHAPES, multicasts, (None, *CP_SOURCES, "b8x16_p0"), (1, 2)):
        yield tcgen05.CpOp(shape, WORD, WIDE, multicast=multicast, decompress=format_, cta_group=group)


def _loads_and_stores() -> Iterator[PTXInstruction]:
    for shape, exponent, pack, split in product(SHAPES, range(8), FLAG, (None, 16)):
        num = 1 << exponent
        registers = LD_SHAPES[shape].registers_per_repeat * num
        if registers > 128:  # more than ptxas has in a vector, with a syntax error for each
            continue
        yield tcgen05.LdOp(shape, WORD, [i32] * registers, num=num, pack=pack, half_split_offset=split)
        yield tcgen05.StOp(shape, WORD, _words(registers), num=num, unpack=pack, half_split_offset=split)
    yield tcgen05.LdOp("32x32b", WORD, [f32, f32], num=2, offset=32)
    yield tcgen05.StOp("32x32b", WORD, [FLOAT] * 2, num=2, offset=32)


def _reductions() -> Iterator[PTXInstruction]:
    for shape, exponent, reduction, (type_, register), absolute, nan, split in product(
        SHAPES, (0, 1, 5), tcgen05.Reduction, tcgen05.REDUCTION_TYPES.items(), FLAG, FLAG, (None, 16)
    ):
        num = 1 << exponent
        if (registers := LD_SHAPES[shape].registers_per_repeat * num) > 128:
            continue
        types = register, [i32] * registers
        flags = {"abs": absolute, "nan": nan}
        yield tcgen05.LdRedOp(shape, WORD, reduction, *types, num=num, type=type_, half_split_offset=split, **flags)


def _compressions() -> Iterator[PTXInstruction]:
    for shape, exponent, reduction, absolute, reduced, nan in product(
        ("32x32b", "16x64b"), range(1, 8), tcgen05.Reduction, FLAG, FLAG, FLAG
    ):
        num = 1 << exponent
        types = [i32] * -(-num // 32) + [f32] * (num // 2 + reduced)
        flags = {"abs": absolute, "red": reduced, "nan": nan}
        yield tcgen05.LdSpcompressOp(shape, WORD, reduction, types, num=num, **flags)


def _dense_and_sparse() -> Iterator[PTXInstruction]:
    modifiers = dict.fromkeys(
        (*product(FLAG, COLLECTORS, (0,), (None,)), *product(FLAG, (None,), (0, 4, 8), (None, 15, 16)))
    )
    for kind, a, sparse, (ashift, collector, lanes, scale), group in product(
        KINDS, DESCRIPTOR_OR_ADDRESS, (None, WORD), modifiers, (1, 2)
    ):
        yield MmaOp(
            kind,
            WORD,
            a,
            WIDE,
            OTHER,
            PREDICATE,
            cta_group=group,
            collector=collector,
            ashift=ashift,
            disable_lanes=_words(lanes),
            scale_d=scale,
            sparse_metadata=sparse,
        )
    for kind, a, sparse, collector, of_b in product(KINDS, DESCRIPTOR_OR_ADDRESS, (None, WORD), COLLECTORS, COLLECTORS):
        yield MmaOp(
            *(kind, WORD, a, WIDE, OTHER, PREDICATE), collector=collector, collector_b=of_b, sparse_metadata=sparse
        )


def _block_scaled() -> Iterator[PTXInstruction]:
    vectors = (None, *dict.fromkeys(row.name for row in SCALE_VECTORS))
    for kind, a, sparse, vector, collector, group in product(
        KINDS, DESCRIPTOR_OR_ADDRESS, (None, WORD), vectors, COLLECTORS, (1, 2)
    ):
        yield MmaOp(
            kind,
            WORD,
            a,
            WIDE,
            OTHER,
            PREDICATE,
            scales=(WORD, OTHER),
            scale_vector=vector,
            cta_group=group,
            collector=collector,
            sparse_metadata=sparse,
        )


def _indexed() -> Iterator[PTXInstruction]:
    for kind, a, sparse, ws, ashift, lanes, of_b, group in product(
        KINDS, DESCRIPTOR_OR_ADDRESS, (None, WORD), FLAG, FLAG, (0, 4, 8), COLLECTORS, (1, 2)
    ):
        refused = ws or sparse or ashift or kind not in (MmaKind.F8F6F4, MmaKind.MXF8F6F4)
        if refused and (lanes or of_b or group == 2):
            continue
        scaled = kind.name.startswith("MX")
        for vector in ("scale_vec::1X", "block32") if scaled else (None,):
            yield MmaOp(
                *(kind, WORD, a, WIDE, OTHER, PREDICATE),
                table=WORD,
                ws=ws,
                scales=(WORD, OTHER) if scaled else (),
                scale_vector=vector,
                cta_group=group,
                collector_b=of_b,
                ashift=ashift,
                disable_lanes=_words(lanes),
                sparse_metadata=sparse,
            )


def _weight_stationary() -> Iterator[PTXInstruction]:
    collectors = [(b, c) for b in (*COLLECTOR_BUFFERS[True], "b4", "a") for c in Collector]
    for kind, a, sparse, mask, (buffer, collector) in product(
        KINDS, DESCRIPTOR_OR_ADDRESS, (None, WORD), (None, WIDE), [(None, None), *collectors]
    ):
        yield MmaOp(
            kind,
            WORD,
            a,
            WIDE,
            OTHER,
            PREDICATE,
            ws=True,
            buffer=buffer,
            collector=collector,
            zero_column_mask=mask,
            sparse_metadata=sparse,
        )


def _barriers() -> Iterator[PTXInstruction]:
    yield ptx.MbarrierInitOp(WORD, 128)
    yield ptx.MbarrierInvalOp(WORD)
    for cluster, relaxed in product(FLAG, FLAG):
        yield ptx.MbarrierArriveOp(WORD, cluster=cluster, relaxed=relaxed)
        yield ptx.MbarrierArriveOp(WORD, 3, cluster=cluster, relaxed=relaxed)
        yield ptx.MbarrierArriveOp(WORD, 3, cluster=cluster, relaxed=relaxed, multicast_32b=OTHER)
        yield ptx.MbarrierTestWaitParityOp(WORD, OTHER, cluster=cluster, relaxed=relaxed)
        yield ptx.MbarrierWaitParityOp(WORD, OTHER, cluster=cluster, relaxed=relaxed)
        yield ptx.MbarrierWaitParityOp(WORD, OTHER, cluster=cluster, relaxed=relaxed, hint=1000)
        yield ptx.BarrierClusterArriveOp(aligned=cluster, relaxed=relaxed)
    for cluster in FLAG:
        yield ptx.MbarrierArriveExpectTxOp(WORD, 32768, cluster=cluster)
        yield ptx.MbarrierArriveExpectTxOp(WORD, 32768, remote=cluster)
        yield ptx.MbarrierExpectTxOp(WORD, 32768, cluster=cluster)
        yield ptx.MbarrierCompleteTxOp(WORD, 32768, cluster=cluster)
        yield ptx.MbarrierExpectTxOp(WORD, 32768, cluster=cluster, multicast_32b=OTHER)
        yield ptx.MbarrierCompleteTxOp(WORD, 32768, cluster=cluster, multicast_32b=OTHER)
        yield ptx.BarrierClusterWaitOp(aligned=cluster)
    yield ptx.BarSyncOp(0)
    yield ptx.BarSyncOp(15, 32)
    yield ptx.BarWarpSyncOp()
    yield ptx.TrapOp(PREDICATE)
    yield ptx.ElectSyncOp()
    yield ptx.FenceMbarrierInitOp()
    for space in (None, "shared::cta", "global"):
        yield ptx.FenceProxyAsyncOp(space)
    yield ptx.MapaOp(WORD, OTHER)
    yield ptx.ReadSpecialOp("cluster_ctarank")
    for change, registers in product(sync.RegisterChange, (16, 24, 100, 232, 256, 264)):
        yield ptx.SetMaxNRegOp(change, registers)
    yield ptx.GridDepControlWaitOp()
    for multicast in FLAG:
        yield ptx.TryCancelOp(WORD, OTHER, multicast=multicast)
    yield ptx.QueryCancelOp(WIDE, WIDE)
    yield ptx.GridDepControlLaunchDependentsOp()
    yield ptx.LdOp("shared_cluster", WORD, [i32, i32])
    yield ptx.StOp("shared_cluster", WORD, [OTHER])


def _thread_copies() -> Iterator[PTXInstruction]:
    yield ptx.CpAsyncCommitGroupOp()
    yield ptx.CpAsyncWaitGroupOp(2)
    yield ptx.CpAsyncMbarrierArriveOp(WORD, noinc=True)
    yield ptx.CpAsyncMbarrierArriveOp(WORD, noinc=False)
    for level, size, read in product(cp_async.CP_ASYNC_BYTES, (2, 4, 8, 16, 32), (None, OTHER)):
        yield ptx.CpAsyncOp(WORD, WIDE, size, cache=level, source_bytes=read, offset=16, source_offset=32)


def _tensor_copies() -> Iterator[PTXInstruction]:
    yield ptx.ParamAddressOp("map")
    yield ptx.PrefetchTensormapOp(WIDE)
    yield ptx.FenceProxyTensormapAcquireOp(WIDE)
    yield ptx.FenceProxyTensormapReleaseOp()
    yield ptx.CpAsyncBulkCommitGroupOp()
    yield ptx.CpAsyncBulkWaitGroupOp(3)
    yield ptx.CpAsyncBulkWaitGroupOp(0, read=True)
    for rank, space, gather, multicast, group, policy in product(
        range(1, 7), tma.DESTINATIONS, FLAG, (None, MASK), (None, 1, 2), (None, WIDE)
    ):
        yield ptx.CpAsyncBulkTensorLoadOp(
            WORD,
            WIDE,
            _words(rank),
            OTHER,
            space=space,
            gather4=gather,
            multicast=multicast,
            cta_group=group,
            cache_policy=policy,
        )
    for space, gather, masks, group, policy in product(
        tma.DESTINATIONS, FLAG, ({}, {"multicast": MASK}, {"multicast_32b": OTHER}), (None, 2), (None, WIDE)
    ):
        form = {"space": space, "gather4": gather, "cta_group": group, "cache_policy": policy}
        yield ptx.CpAsyncBulkTensorLoadOp(WORD, WIDE, _words(5 if gather else 2), OTHER, address=WIDE, **form, **masks)
    yield ptx.CpAsyncBulkTensorLoadOp(WORD, WIDE, _words(2), OTHER, space="shared::cluster", multicast_32b=OTHER)
    for rank in range(1, 7):
        for address in (None, WIDE):
            yield ptx.CpAsyncBulkPrefetchTensorOp(WIDE, _words(rank), address)
        for reduce, scatter, policy, address in product(
            (None, *tma.REDUCTIONS, "mul"), FLAG, (None, WIDE), (None, WIDE)
        ):
            form = {"reduce": reduce, "scatter4": scatter, "cache_policy": policy, "address": address}
            yield ptx.CpAsyncBulkTensorStoreOp(WIDE, _words(rank), WORD, **form)


def _matrices() -> Iterator[PTXInstruction]:
    for shape, registers, trans in product(matrix.LOAD_SHAPES, (1, 2, 4), FLAG):
        yield ptx.LdMatrixOp(shape, WORD, [i32] * registers, trans=trans)
    for shape, registers, trans in product(matrix.STORE_SHAPES, (1, 2, 4), FLAG):
        yield ptx.StMatrixOp(shape, WORD, _words(registers), trans=trans)


def _warps() -> Iterator[PTXInstruction]:
    for mode, value in product(warp.ShuffleMode, (WORD, FLOAT, WIDE)):
        yield ptx.ShflSyncOp(mode, value, OTHER)
        yield ptx.ShflSyncOp(mode, value, OTHER, clamp=0x1C1F, mask=0xFFFF)
    for reduction, value, magnitude, nan in product(warp.WarpReduction, (WORD, FLOAT, WIDE), FLAG, FLAG):
        yield ptx.ReduxSyncOp(reduction, value, abs=magnitude, nan=nan)
    for reduction in ("add", "min", "max"):
        yield ptx.ReduxSyncOp(reduction, WORD, unsigned=True, mask=0xFF)


def _rows() -> Iterator[PTXInstruction]:
    """The table's instructions, on all types: each row says which it has."""
    values = {value.type: value for value in (PREDICATE, MASK, WORD, WIDE, HALF, BRAIN, FLOAT, DOUBLE)}
    for instruction in TABLE:
        legal, count = {text for text, _ in instruction.LEGAL.values()}, len(instruction.CHOICES)
        for words, type_ in product(dict.fromkeys(form.words for form in instruction.FORMS), values):
            forms = [form for form in instruction.FORMS if {*form.words} == {*words}]
            is_legal = any(type_ in form.types for form in forms if form.words == words)
            if not is_legal and any(form.mnemonic(type_) in legal for form in forms):
                continue  # the text is that of a legal form
            operands = (WORD if name == "amount" else values[type_] for name in instruction.OPERANDS)
            yield instruction(*words[:count], *operands, **dict.fromkeys(words[count:], True))


def _global_reductions() -> Iterator[PTXInstruction]:
    scalars = (WORD, WIDE, HALF, BRAIN, FLOAT, DOUBLE)
    for operation, value, number, unsigned in product(reductions.Red, scalars, (1, 2, 4), FLAG):
        if not unsigned or value in (WORD, WIDE):
            yield ptx.RedOp(operation, WIDE, [value] * number, 16, unsigned=unsigned)
            yield ptx.RedSharedOp(operation, WORD, [value] * number, 16, unsigned=unsigned)
    for operation, format_, number in product(reductions.Red, packed.HALVES, (1, 2, 4)):
        yield ptx.RedOp(operation, WIDE, _words(number), format=format_)
        yield ptx.RedSharedOp(operation, WORD, _words(number), format=format_)


def _atomics() -> Iterator[PTXInstruction]:
    for operation, order, scope, value in product(
        atomics.Atomic, atomics.Order, atomics.Scope, (MASK, WORD, WIDE, HALF, BRAIN, FLOAT, DOUBLE)
    ):
        data = [value] * (1 + (operation is atomics.Atomic.CAS))
        for place, unsigned in product((WORD, WIDE), FLAG):
            form = {"operation": operation, "order": order, "scope": scope, "address": place, "data": data}
            if not unsigned or (value in (WORD, WIDE) and operation in (atomics.Atomic.MIN, atomics.Atomic.MAX)):
                yield ptx.AtomOp(**form, unsigned=unsigned, result=value.type, offset=16)
    for order, scope, value, place in product(atomics.Order, atomics.Scope, (WORD, DOUBLE), (WORD, WIDE)):
        yield ptx.LdStrongOp(order, scope, place, result=value.type)
        yield ptx.StStrongOp(order, scope, place, value, 16)
    yield ptx.NanosleepOp(WORD)


def _pairs() -> Iterator[PTXInstruction]:
    for operation, format_ in product(packed.PairOperation, packed.PairFormat):
        yield ptx.PairOp(operation, format_, _words(packed.PAIR_ROWS[operation].operands))
        wide = [WIDE] * (packed.PAIR_ROWS[operation].operands - 1)
        for rounding in (None, "rz", "rm", "rp"):
            yield ptx.MixedPairOp(operation, format_, WORD, wide, rounding=rounding)
        if operation in ("add", "sub", "mul", "min"):
            yield ptx.NarrowPairOp(operation, format_, WIDE, WIDE)
    for format_ in packed.PairFormat:
        yield ptx.CvtPairOp(format_, FLOAT, FLOAT)
        yield ptx.CvtFromPairOp(format_, MASK)
        yield ptx.MulPairOp(format_, WORD, WORD)


def _quadruples() -> Iterator[PTXInstruction]:
    formats = ("e4m3", "e5m2", "e2m3", "e3m2", "e2m1")
    for element, of_a, of_b, finite in product(formats, formats, formats, FLAG):
        a, b = (MASK if each == "e2m1" else WORD for each in (of_a, of_b))
        yield ptx.MulX4Op(element, of_a, of_b, a, b, satfinite=finite)


def _multiple() -> Iterator[PTXInstruction]:
    names, orders = ("u32", "s64", "b32", "f32", "f16x2", "bf16"), atomics.Order
    values = {"u32": WORD, "b32": WORD, "s64": WIDE, "f32": FLOAT, "f16x2": WORD, "bf16": BRAIN}
    for name, order, number, operation in product(names, orders, (1, 2, 4, 8), ("add", "max", "xor", "inc")):
        value, of = values[name], (name, order, "sys", WIDE)
        yield ptx.MultimemLdReduceOp(*of, operation=operation, res=[value.type] * number)
        yield ptx.MultimemRedOp(*of, [value] * number, operation=operation)
        yield ptx.MultimemStOp(*of, [value] * number)
    for name, scope, order in product(names, ("gpu", "cta"), ("release", "relaxed")):
        yield ptx.MultimemStOp(name, order, scope, WIDE, [values[name]], asynchronous=True)
        yield ptx.MultimemRedOp(name, order, scope, WIDE, [values[name]], asynchronous=True, operation="add")
    yield ptx.MultimemBulkOp(WIDE, WORD, OTHER, mask=MASK)
    yield ptx.MultimemBulkOp(WIDE, WORD, OTHER)
    for operation, name in product(("add", "min", "inc", "xor"), ("u32", "s64", "b64", "f16", "f64")):
        yield ptx.MultimemBulkOp(WIDE, WORD, OTHER, operation, name)
    yield ptx.FabricTryGetOp(WORD, WIDE, OTHER, OTHER, WORD)
    for several, counted, mask in product(FLAG, (None, WIDE), (None, MASK)):
        operands = {"counted": counted, "mask": mask, "multimem": several}
        yield ptx.FabricTryPutOp(WORD, WIDE, OTHER, OTHER, WORD, **operands)
        for operation, name in product(("add", "min", "xor"), ("u32", "s32", "b32", "f32", "u64")):
            yield ptx.FabricTryPutOp(WORD, WIDE, OTHER, OTHER, WORD, **operands, operation=operation, type=name)
    for group, fetching in product(FLAG, FLAG):
        yield ptx.FabricSubmitOp(group=group, fetching=fetching)
    yield ptx.FabricWaitOp()
    yield ptx.FabricWaitOp(group=1)


def _compressed() -> Iterator[PTXInstruction]:
    for element, index, number in product(("b8", "b16"), ("b2", "b4"), (1, 2, 3, 8, 64)):
        words = -(-number * int(index[1:]) // int(element[1:]))
        for data in (2 * number, 2 * number + 2):
            yield ptx.SpcompressOp(element, index, _words(data), WORD, [i32] * (words + number))
    for element, index, pattern, number in product(
        ("b8", "b16"), ("b2", "b4"), ("1:2", "2:4", "2:8", "4:8"), (1, 4, 64)
    ):
        kept, of = map(int, pattern.split(":"))
        words, stored, all_ = (
            -(-each * number // 32) for each in (kept * int(index[1:]), kept * int(element[1:]), of * int(element[1:]))
        )
        yield ptx.SpdecompressOp(element, index, pattern, number, _words(words), _words(stored), [i32] * all_)


def _warpgroup() -> Iterator[PTXInstruction]:
    yield wgmma.FenceOp()
    yield wgmma.CommitGroupOp()
    for pending in (-1, 0, 7, 8):
        yield wgmma.WaitGroupOp(pending)
    for (a, b), n, sparse, in_place, registers in product(WGMMA_KINDS, (8, 12, 40, 256, 264), FLAG, FLAG, FLAG):
        for d in WGMMA_KINDS[a, b].results:
            yield _wgmma(WgmmaForm(a, b, d, n, sparse), in_place, registers, False, False)
    flags = product(FLAG, FLAG, FLAG, FLAG, FLAG)
    for (a, b), registers, flag in product(WGMMA_KINDS, FLAG, tuple(flags)):
        transpose_a, transpose_b, *modifiers = flag
        kind = WGMMA_KINDS[a, b]
        has_flags = (kind.transposes and not registers, kind.transposes, True, kind.negates, kind.negates)
        if any(given and not has for given, has in zip(flag, has_flags, strict=True)):
            continue  # a missing immediate cannot be wrong in the text
        form = WgmmaForm(a, b, kind.results[-1], 16, False, *modifiers)
        yield _wgmma(form, True, registers, transpose_a, transpose_b)


def _wgmma(form: WgmmaForm, in_place: bool, registers: bool, transpose_a: bool, transpose_b: bool) -> wgmma.MmaAsyncOp:
    type_, accumulator = (f32, FLOAT) if form.d == "f32" else (i32, WORD)
    return wgmma.MmaAsyncOp.of(
        form,
        _words(4) if registers else [WIDE],
        WIDE,
        [accumulator] * form.d_registers if in_place else [],
        [type_] * form.d_registers,
        scale_d=PREDICATE if in_place else None,
        metadata=OTHER if form.sparse else None,
        selector=0 if form.sparse else None,
        transpose_a=transpose_a,
        transpose_b=transpose_b,
    )


def _moves() -> Iterator[PTXInstruction]:
    values = (PREDICATE, MASK, WORD, WIDE, HALF, BRAIN, FLOAT, DOUBLE)
    for value, other, unsigned in product(values, values, FLAG):
        yield ptx.CvtOp(value, result=other.type, unsigned=unsigned)
        yield from (ptx.CvtOp(value, result=other.type, unsigned=unsigned, **{mode: True}) for mode in ("rm", "rp"))
    for value in values:
        yield ptx.SelpOp(PREDICATE, value, value)
        yield from (ptx.MovOp(value, other.type) for other in values if width(value.type) == width(other.type))
    for value, half in product((WORD, WIDE), values):
        if 2 * width(half.type) == width(value.type):
            yield ptx.PackOp(half, half)
            yield ptx.UnpackOp(value, half.type)


def _accesses() -> Iterator[PTXInstruction]:
    yield ptx.CvtaToGlobalOp(WIDE)
    yield from (ptx.LdParamOp("map", value.type) for value in (MASK, WORD, WIDE, FLOAT, DOUBLE))
    for space, type_ in memory.ADDRESS_TYPES.items():
        place = WIDE if type_ == i64 else WORD
        for value, number in product((MASK, WORD, WIDE, HALF, BRAIN, FLOAT, DOUBLE), (1, 2, 4)):
            yield ptx.LdOp(space, place, [value.type] * number, 16)
            yield ptx.StOp(space, place, [value] * number, 16)
        yield ptx.LdU8Op(space, place)
        yield ptx.StU8Op(space, place, WORD)


def _products() -> Iterator[PTXInstruction]:
    yield ptx.MmaM8N8K4F64Op(DOUBLE, DOUBLE, DOUBLE, DOUBLE)
    for a, b, (c, d) in product(mma.Major, mma.Major, product(([WORD] * 4, [FLOAT] * 8), ([i32] * 4, [f32] * 8))):
        yield ptx.MmaM8N8K4F16Op(a, b, _words(2), _words(2), c, d)
    registers = {"b32": WORD, "f32": FLOAT, "f64": DOUBLE}
    for name in mma.M16N8:
        row = VARIANTS[name]
        a, b, c = ([registers[each.register_type]] * each.registers for each in (row.a, row.b, row.c))
        scales = {} if row.scales is None else {"scales": _words(2), "byte_a": 0, "byte_b": 0}
        yield ptx.MmaM16N8Op(name, a, b, c, d=[value.type for value in c], **scales)


FAMILIES = (
    _allocation,
    _copies,
    _loads_and_stores,
    _reductions,
    _compressions,
    _dense_and_sparse,
    _block_scaled,
    _indexed,
    _weight_stationary,
    _barriers,
    _thread_copies,
    _tensor_copies,
    _matrices,
    _warps,
    _rows,
    _pairs,
    _quadruples,
    _multiple,
    _compressed,
    _global_reductions,
    _atomics,
    _warpgroup,
    _moves,
    _accesses,
    _products,
)

NO_FORMS = {
    "ptx.constant": "a literal of the instructions that use it",
    "ptx.shared_alloc": "a declaration",
    "ptx.undefined": "a register that nothing writes",
    "ptx.per_cta_memory": "it needs a directive of the entry: test/target/ptx/per_cta_memory.mlir",
    **dict.fromkeys(("ptx.inline", "ptx.inline_volatile"), "text by hand"),
    **dict.fromkeys(
        ("ptx.assert_fail", "ptx.printf"), "calls of functions that the module declares: the tests of them"
    ),
}
"""Instructions without a form here, with the reason."""

WHERE = {"_reductions": "sm_103a", "_compressions": "sm_107a", "_indexed": "sm_107a", "_warpgroup": "sm_90a"}
"""Targets of families that sm_100a does not have."""

STRICTER = (
    # The ISA has scale-input-d for f16 and tf32 only.
    r"expected no scale-input-d on tcgen05\.mma(\.sp)?\.cta_group::[12]\.kind::i8",
    # The ISA's syntax of cp.reduce.async.bulk.tensor has no scatter.
    r"expected reduce or scatter4, found both",
    # CUTLASS and the simulator stop at 7 pending groups; the ISA names no bound.
    r"expected 0 to 7 pending groups",
    # 256 bits of global memory since sm_100: tirx moves 128.
    r"expected at most 128 bits in one access",
    # A conversion that changes nothing is none.
    r"expected two different integer or float types, found (\w+) -> \1$",
    # sm_90 only, as below.
    r"expected bf16 to convert from f32 or an integer, or to f32",
    # Roundings down and up are those that f32 and f64 have; the first of two is written.
    r"expected one of rm and rp, found both",
    r"expected rm and rp on a result of f32 or f64 that is rounded",
    # The ISA's syntax of fma rounds bf16 to nearest only.
    r"ptx\.fma: expected '(rm|rp|rz)' on f32 or f64, found bf16",
    # Registers of floats have bits, too; tirx keeps them apart.
    r"ptx\.(and|or|xor|not|shl): expected type to be one of .*, found b?f\d+",
    # Functions are those of floats.
    r"ptx\.function: expected type to be one of .*, found i\d+",
    # sm_90 only: tirx rounds bf16 to integers in f32 on every target.
    r"expected '(rint|floor|ceil|trunc)' on .*, found bf16",
)
"""Messages of the verifier about forms that `ptxas` accepts."""
