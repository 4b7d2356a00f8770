"""The tensor memory accelerator: asynchronous copies of boxes of tensors, described by tensor maps.

`map` is the generic address (i64) of a tensor map, `coordinates` are i32, the innermost dimension first. See PTX ISA,
"Data Movement and Conversion Instructions: Tensor copy". None of these ops has a memory-effect trait: unknown effects
keep every pass from moving, merging or removing them.
"""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from typing import ClassVar

from xdsl.dialects.builtin import I32, IntegerAttr, StringAttr, UnitAttr, i16, i32, i64
from xdsl.ir import SSAValue
from xdsl.irdl import AttrSizedOperandSegments, operand_def, opt_operand_def, opt_prop_def, prop_def, var_operand_def

from tirx.copy.tma import INDEXED_ROWS, MAX_RANK
from tirx.dialects.definition import irdl_op_definition
from tirx.dialects.ptx.base import FixedOp, Names, ThreadOp, address, expect_choice, vector
from tirx.dialects.ptx.effects import (
    NO_EFFECTS,
    AccessKind,
    Bytes,
    CommitGroup,
    Effects,
    MemoryAccess,
    TensorBox,
    WaitGroup,
)
from tirx.dialects.ptx.parameters import TENSOR_MAP_BYTES
from tirx.rules import InstructionFormError
from tirx.tcgen05.tmem import CTA_GROUPS

LEAST_BYTES = 16
"""The least that a bulk copy moves; the box of a tensor is not known further."""

DESTINATIONS: Mapping[str, tuple[str, ...]] = {
    "shared::cta": ("cp.async.bulk.tensor.shared::cta",),
    "shared::cluster": ("cp.async.bulk.tensor",),
}
"""Where a load writes -> what the target must have."""

REDUCTIONS = ("add", "min", "max", "inc", "dec", "and", "or", "xor")
"""What `cp.reduce.async.bulk.tensor` does with the elements of the tensor and those of the box."""


def _check_coordinates(coordinates: Sequence[SSAValue], rows: UnitAttr | None, what: str) -> None:
    if rows is not None and len(coordinates) != 1 + INDEXED_ROWS:
        raise InstructionFormError(
            f"expected {1 + INDEXED_ROWS} coordinates for a {what} (the column and {INDEXED_ROWS} rows), found "
            f"{len(coordinates)}"
        )
    if not 1 <= len(coordinates) <= MAX_RANK:
        raise InstructionFormError(f"expected 1 to {MAX_RANK} coordinates, found {len(coordinates)}")


def _tensor(reg: Names, map_: SSAValue, coordinates: Sequence[SSAValue], address: SSAValue | None) -> str:
    return f"[{', '.join(map(reg, (map_, *(() if address is None else (address,)))))}, {vector(reg, coordinates)}]"


def _overridden(address: SSAValue | None) -> str:
    return "" if address is None else ".override::global_address"


OVERRIDE = "cp.async.bulk.tensor.override"
"""What the target must have for an address in place of that of the tensor map."""


def _check_override(address: SSAValue | None, rows: UnitAttr | None) -> None:
    if address is not None and rows is not None:
        raise InstructionFormError("expected an address for a box, found it with four rows")


def _boxes(
    map_: SSAValue, coordinates: Sequence[SSAValue], rows: UnitAttr | None, address: SSAValue | None
) -> tuple[TensorBox, ...]:
    """Returns the box that is accessed; nothing where it is not one box of the tensor of the map."""
    return (TensorBox(map_, tuple(coordinates)),) if rows is None and address is None else ()


def _rank(coordinates: Sequence[SSAValue], rows: UnitAttr | None) -> int:
    return len(coordinates) if rows is None else 2


@irdl_op_definition
class CpAsyncBulkTensorLoadOp(ThreadOp):
    """Starts to copy a box of a tensor to shared memory; its bytes count on the mbarrier when they have arrived.

    `multicast` (i16) is the mask of the CTAs of the cluster that get the box, at the same offset, with the mbarrier at
    the same offset; `multicast_32b` has a mask of 32 bits (i32). `at` is a global address (i64) for this copy in place
    of that of the tensor map, so that one map serves tensors of one shape. `cta_group` 2 lets the mbarrier be that of
    the other CTA of the pair. `gather4` reads four rows of a matrix: the coordinates are the column and the rows.

    ```mlir
    ptx.cp.async.bulk.tensor.load "shared::cta" %dst, %map[%x, %y], %bar
    ptx.cp.async.bulk.tensor.load "shared::cluster" %dst, %map[%x, %y], %bar multicast %mask cta_group 2 cache %policy
    ptx.cp.async.bulk.tensor.load "shared::cta" %dst, %map[%x, %y] at %tensor, %bar
    ```
    See PTX ISA, "cp.async.bulk.tensor".
    """

    name = "ptx.cp.async.bulk.tensor.load"

    dst = operand_def(i32)
    map = operand_def(i64)
    coordinates = var_operand_def(i32)
    barrier = operand_def(i32)
    multicast = opt_operand_def(i16)
    multicast_32b = opt_operand_def(i32)
    address = opt_operand_def(i64)
    cache_policy = opt_operand_def(i64)
    space = prop_def(StringAttr)
    gather4 = opt_prop_def(UnitAttr)
    cta_group = opt_prop_def(IntegerAttr[I32])

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = """
    $space (`gather4` $gather4^)? $dst `,` $map `[` $coordinates `]` (`at` $address^)? `,` $barrier
    (`multicast` $multicast^)? (`multicast_32b` $multicast_32b^)? (`cta_group` $cta_group^)? (`cache` $cache_policy^)?
    attr-dict
    """

    def verify_(self) -> None:
        expect_choice("space", self.space.data, tuple(DESTINATIONS))
        _check_coordinates(self.coordinates, self.gather4, "gather")
        if self.cta_group is not None:
            expect_choice("cta_group", self.cta_group.value.data, CTA_GROUPS)
        masks = [mask for mask in (self.multicast, self.multicast_32b) if mask is not None]
        if len(masks) > 1:
            raise InstructionFormError("expected one mask of CTAs, of 16 or of 32 bits, found both")
        _check_override(self.address, self.gather4)
        if masks and self.space.data != "shared::cluster":
            raise InstructionFormError(f"expected space to be shared::cluster with multicast, found {self.space.data}")

    def effects(self) -> Effects:
        box = _boxes(self.map, self.coordinates, self.gather4, self.address)
        written = (Bytes(self.dst, LEAST_BYTES),)
        return Effects(MemoryAccess(AccessKind.BULK_LOAD, reads=box, writes=written, barrier=self.barrier))

    FORMS_NEED: ClassVar = (
        *(need for needs in DESTINATIONS.values() for need in needs),
        *(f"cp.async.bulk.tensor.{space}.gather4" for space in DESTINATIONS),
        "cp.async.bulk.tensor.cta_group",
        "cp.async.bulk.multicast::cluster::32b",
        OVERRIDE,
    )

    def features(self) -> tuple[str, ...]:
        features = DESTINATIONS[self.space.data]
        if self.gather4 is not None:
            features = (f"cp.async.bulk.tensor.{self.space.data}.gather4",)
        if self.cta_group is not None:
            features = (*features, "cp.async.bulk.tensor.cta_group")
        if self.multicast_32b is not None:
            features = (*features, "cp.async.bulk.multicast::cluster::32b")
        return features if self.address is None else (*features, OVERRIDE)

    def emit(self, reg: Names) -> str:
        mode = "tile" if self.gather4 is None else "tile::gather4"
        modifiers = [f"{_rank(self.coordinates, self.gather4)}d.{self.space.data}.global.{mode}"]
        modifiers.append("mbarrier::complete_tx::bytes")
        operands = [
            address(reg, self.dst),
            _tensor(reg, self.map, self.coordinates, self.address),
            address(reg, self.barrier),
        ]
        for mask, modifier in ((self.multicast, "multicast::cluster"), (self.multicast_32b, "multicast::cluster::32b")):
            if mask is not None:
                modifiers.append(modifier)
                operands.append(reg(mask))
        if self.cta_group is not None:
            modifiers.append(f"cta_group::{self.cta_group.value.data}")
        if self.cache_policy is not None:
            modifiers.append("L2::cache_hint")
            operands.append(reg(self.cache_policy))
        return f"cp.async.bulk.tensor.{'.'.join(modifiers)}{_overridden(self.address)} {', '.join(operands)}"


@irdl_op_definition
class CpAsyncBulkTensorStoreOp(ThreadOp):
    """Starts to copy a box from shared memory to a tensor, or to combine it with what is there (`reduce`).

    Complete after `ptx.cp.async.bulk.commit_group` and `wait_group`. `scatter4` writes four rows of a matrix: the
    coordinates are the column and the rows. `at` as for loads.

    ```mlir
    ptx.cp.async.bulk.tensor.store %map[%x, %y], %src
    ptx.cp.async.bulk.tensor.store reduce "add" %map[%x, %y], %src cache %policy
    ```
    See PTX ISA, "cp.async.bulk.tensor" and "cp.reduce.async.bulk.tensor".
    """

    name = "ptx.cp.async.bulk.tensor.store"

    map = operand_def(i64)
    coordinates = var_operand_def(i32)
    src = operand_def(i32)
    address = opt_operand_def(i64)
    cache_policy = opt_operand_def(i64)
    reduce = opt_prop_def(StringAttr)
    scatter4 = opt_prop_def(UnitAttr)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = """
    (`reduce` $reduce^)? (`scatter4` $scatter4^)? $map `[` $coordinates `]` (`at` $address^)? `,` $src
    (`cache` $cache_policy^)? attr-dict
    """

    def verify_(self) -> None:
        _check_coordinates(self.coordinates, self.scatter4, "scatter")
        _check_override(self.address, self.scatter4)
        if self.reduce is not None:
            expect_choice("reduce", self.reduce.data, REDUCTIONS)
            if self.scatter4 is not None:
                raise InstructionFormError(f"expected reduce or scatter4, found both ({self.reduce.data})")

    def effects(self) -> Effects:
        box = _boxes(self.map, self.coordinates, self.scatter4, self.address)
        return Effects(
            MemoryAccess(AccessKind.BULK_STORE, reads=(Bytes(self.src, LEAST_BYTES),)),
            outside=MemoryAccess(AccessKind.BULK_WRITE, reads=() if self.reduce is None else box, writes=box),
        )

    FORMS_NEED: ClassVar = ("cp.async.bulk.tensor", "cp.async.bulk.tensor.scatter4", OVERRIDE)

    def features(self) -> tuple[str, ...]:
        features = ("cp.async.bulk.tensor" if self.scatter4 is None else "cp.async.bulk.tensor.scatter4",)
        return features if self.address is None else (*features, OVERRIDE)

    def emit(self, reg: Names) -> str:
        verb = "cp.async" if self.reduce is None else "cp.reduce.async"
        operation = "" if self.reduce is None else f".{self.reduce.data}"
        mode = "tile" if self.scatter4 is None else "tile::scatter4"
        cache = "" if self.cache_policy is None else ".L2::cache_hint"
        policy = "" if self.cache_policy is None else f", {reg(self.cache_policy)}"
        form = f"{_rank(self.coordinates, self.scatter4)}d.global.shared::cta{operation}.{mode}.bulk_group{cache}"
        form += _overridden(self.address)
        where = _tensor(reg, self.map, self.coordinates, self.address)
        return f"{verb}.bulk.tensor.{form} {where}, {address(reg, self.src)}{policy}"


@irdl_op_definition
class CpAsyncBulkPrefetchTensorOp(ThreadOp):
    """Starts to bring a box of a tensor into the L2 cache; `at` as for loads.

    See PTX ISA, "cp.async.bulk.prefetch.tensor".
    """

    name = "ptx.cp.async.bulk.prefetch.tensor"
    EFFECTS: ClassVar = NO_EFFECTS
    NEEDS: ClassVar = ("cp.async.bulk.tensor",)
    OPTIONS_NEED: ClassVar = {"address": OVERRIDE}

    map = operand_def(i64)
    coordinates = var_operand_def(i32)
    address = opt_operand_def(i64)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = "$map `[` $coordinates `]` (`at` $address^)? attr-dict"

    def verify_(self) -> None:
        _check_coordinates(self.coordinates, None, "prefetch")

    def emit(self, reg: Names) -> str:
        form = f"{len(self.coordinates)}d.L2.global.tile{_overridden(self.address)}"
        return f"cp.async.bulk.prefetch.tensor.{form} {_tensor(reg, self.map, self.coordinates, self.address)}"


@irdl_op_definition
class CpAsyncBulkCommitGroupOp(FixedOp, ThreadOp):
    """Makes a group of the stores that this thread has started. See PTX ISA, "cp.async.bulk.commit_group"."""

    name = "ptx.cp.async.bulk.commit_group"
    EFFECTS: ClassVar = Effects(synchronization=CommitGroup(AccessKind.BULK_STORE))
    NEEDS: ClassVar = ("cp.async.bulk.tensor",)
    TEXT: ClassVar = "cp.async.bulk.commit_group"


@irdl_op_definition
class CpAsyncBulkWaitGroupOp(ThreadOp):
    """Waits until at most `pending` groups of stores are open; with `read`, until their source may be overwritten.

    See PTX ISA, "cp.async.bulk.wait_group".
    """

    name = "ptx.cp.async.bulk.wait_group"
    NEEDS: ClassVar = ("cp.async.bulk.tensor",)

    pending = prop_def(IntegerAttr[I32])
    read = opt_prop_def(UnitAttr)

    assembly_format = "$pending (`read` $read^)? attr-dict"

    def verify_(self) -> None:
        if self.pending.value.data < 0:
            raise InstructionFormError(f"expected 0 or more pending groups, found {self.pending.value.data}")

    def effects(self) -> Effects:
        return Effects(
            synchronization=WaitGroup(AccessKind.BULK_STORE, self.pending.value.data, read=self.read is not None)
        )

    def emit(self, reg: Names) -> str:
        return f"cp.async.bulk.wait_group{'' if self.read is None else '.read'} {self.pending.value.data}"


@irdl_op_definition
class PrefetchTensormapOp(ThreadOp):
    """Brings a tensor map into the cache. See PTX ISA, "prefetch"."""

    name = "ptx.prefetch.tensormap"
    EFFECTS: ClassVar = NO_EFFECTS
    NEEDS: ClassVar = ("prefetch.tensormap",)

    map = operand_def(i64)

    assembly_format = "$map attr-dict"

    def emit(self, reg: Names) -> str:
        return f"prefetch.tensormap {address(reg, self.map)}"


class _TensormapFenceOp(ThreadOp, abc.ABC):
    """Orders writes to a tensor map through the generic proxy with its use by the tensor memory accelerator."""

    EFFECTS: ClassVar = NO_EFFECTS
    NEEDS: ClassVar = ("fence.proxy.tensormap",)


@irdl_op_definition
class FenceProxyTensormapAcquireOp(_TensormapFenceOp):
    """Makes writes to the 128 bytes of a tensor map visible. See PTX ISA, "membar/fence"."""

    name = "ptx.fence.proxy.tensormap.acquire"

    map = operand_def(i64)

    assembly_format = "$map attr-dict"

    def emit(self, reg: Names) -> str:
        return f"fence.proxy.tensormap::generic.acquire.gpu {address(reg, self.map)}, {TENSOR_MAP_BYTES}"


@irdl_op_definition
class FenceProxyTensormapReleaseOp(FixedOp, _TensormapFenceOp):
    """Publishes this thread's writes to tensor maps. See PTX ISA, "membar/fence"."""

    name = "ptx.fence.proxy.tensormap.release"
    TEXT: ClassVar = "fence.proxy.tensormap::generic.release.gpu"
