"""Roles: parts of a kernel that run at the same time, each on warps of its own."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects import builtin, memref
from xdsl.dialects.builtin import I32, IntegerAttr, MemRefType, StringAttr
from xdsl.ir import Block, Operation, SSAValue
from xdsl.irdl import lazy_traits_def, opt_prop_def, prop_def, region_def
from xdsl.traits import HasParent, MemoryReadEffect, MemoryWriteEffect, RecursiveMemoryEffect
from xdsl.utils.str_enum import StrEnum

from tirx.dialects.definition import DirectOperation, enum_attribute, irdl_op_definition
from tirx.dialects.nesting import QuickWalk, captured, operations
from tirx.dialects.syntax import BODY, SYMBOL, AnyOrder, Clause, WrittenOp
from tirx.dialects.tirx.attributes import MemorySpace, MemorySpaceAttr, TileType
from tirx.dialects.tirx.kernel import KernelOp
from tirx.dialects.tirx.ring_types import PendingType, RingType
from tirx.dialects.tirx.thread_sets import OnThreads, ThreadSet
from tirx.dialects.traits import NoEnd, is_pure
from tirx.layout.axis import WARP_SIZE
from tirx.rules import RoleCrossingError, RoleError

MAX_WARPS = 32
"""Warps of a block of 1024 threads (CUDA C++ Programming Guide, "Compute Capabilities")."""

WARPGROUP = 4
"""Warps of a warpgroup."""

REGISTER_BOUNDS = (24, 256, 8)
"""Least, most and step of the registers of a thread that a role may ask for (PTX ISA, `setmaxnreg`)."""

MAX_REGISTERS = 255
"""Registers of 32 bits that a thread can have (CUDA C++ Programming Guide, "Compute Capabilities")."""

REGISTER_FILE = 65536
"""Registers of an SM (CUDA C++ Programming Guide, "Technical Specifications per Compute Capability")."""


class Unit(StrEnum):
    """The threads of a role that move together, a party."""

    WARP = "warp"
    WARPGROUP = "warpgroup"
    THREAD = "thread"


UnitAttr = enum_attribute("tirx.unit", Unit)


@irdl_op_definition
class RoleOp(QuickWalk, WrittenOp, OnThreads):
    """`tirx.role @load warps(4) registers(40) unit(warp) { ... }`: what some warps of the block do.

    Roles get the warps of the block in their order. `registers` are those of each thread, from its entry into the role
    on. `unit` says which threads move together as one party, where the operations of the role do not: with `thread`
    it is one elected thread for all.
    """

    name = "tirx.role"

    sym_name = prop_def(StringAttr)
    warps = prop_def(IntegerAttr[I32])
    registers = opt_prop_def(IntegerAttr[I32])
    unit = opt_prop_def(UnitAttr)
    body = region_def("single_block")

    SYNTAX: ClassVar = (
        Clause("", SYMBOL, "sym_name"),
        AnyOrder(
            Clause("warps()", int),
            Clause("registers()", int),
            Clause("unit()", Unit),
            needed=("warps", "expected warps(n) behind the name of the role"),
        ),
    )
    BEHIND: ClassVar = (Clause("", BODY, "body"),)

    traits = lazy_traits_def(lambda: (HasParent(RolesOp), MemoryReadEffect(), MemoryWriteEffect(), NoEnd()))

    @property
    def num_warps(self) -> int:
        return self.warps.value.data

    @property
    def thread_set(self) -> ThreadSet:
        """The threads behind those of the roles before; their named barrier has the number of the role, from 1."""
        roles = self.parent_op()
        before = list(roles.roles) if isinstance(roles, RolesOp) else [self]
        before = before[: before.index(self)]
        return ThreadSet(
            WARP_SIZE * sum(role.num_warps for role in before), WARP_SIZE * self.num_warps, 1 + len(before)
        )

    def verify_(self) -> None:
        if not 1 <= self.num_warps <= MAX_WARPS:
            raise RoleError(f"expected 1 to {MAX_WARPS} warps, found {self.num_warps}")
        least, most, step = REGISTER_BOUNDS
        if self.registers is not None:
            found = self.registers.value.data
            if not least <= found <= most or found % step:
                raise RoleError(f"expected registers in steps of {step} from {least} to {most}, found {found}")
            if self.num_warps % WARPGROUP:
                raise RoleError(
                    f"expected whole warpgroups of {WARPGROUP} warps in a role with registers(...), "
                    f"found {self.num_warps} warps"
                )
        if self.unit is not None and self.unit.data is Unit.WARPGROUP:
            if self.num_warps % WARPGROUP or self.thread_set.first % (WARP_SIZE * WARPGROUP):
                raise RoleError(
                    f"expected whole warpgroups of {WARPGROUP} warps for unit({Unit.WARPGROUP}), "
                    f"found {self.num_warps} warps from warp {self.thread_set.first // WARP_SIZE} on"
                )


@irdl_op_definition
class RolesOp(DirectOperation):
    """`tirx.roles { tirx.role @load warps(4) { ... } tirx.role @math warps(8) { ... } }`

    The roles run at the same time. Scalars that are computed from arguments, block ids and loop indices alone may be
    used in every role, which computes them again; so may those that are loaded from arguments which the kernel only
    loads scalars from. Register tiles and other scalars that are read from memory cross between roles through rings
    only. All warps of the block belong to a role, and all wait for each other at the end.

    `tirx.roles lowered { ... }`: rings have been lowered, and barriers in the code order what roles share.
    """

    name = "tirx.roles"

    lowered = opt_prop_def(builtin.UnitAttr)
    body = region_def("single_block")

    traits = lazy_traits_def(lambda: (HasParent(KernelOp), RecursiveMemoryEffect(), NoEnd()))

    assembly_format = "(`lowered` $lowered^)? attr-dict-with-keyword $body"

    @property
    def roles(self) -> tuple[RoleOp, ...]:
        """The roles, in the order of their warps."""
        return tuple([op for op in operations(self.body.block) if isinstance(op, RoleOp)])

    def verify_(self) -> None:
        for op in self.body.block.ops:
            if not isinstance(op, RoleOp):
                raise RoleError(f"expected only 'tirx.role' in 'tirx.roles', found '{op.name}'")
        names = [role.sym_name.data for role in self.roles]
        for name in names:
            if names.count(name) > 1:
                raise RoleError(f"expected roles of different names, found @{name} twice")
        self._verify_warps()
        if self.lowered is None:
            self._verify_crossings()

    def _verify_warps(self) -> None:
        warps = sum(role.num_warps for role in self.roles)
        if not 1 <= warps <= MAX_WARPS:
            raise RoleError(f"expected 1 to {MAX_WARPS} warps in all roles together, found {warps}")
        kernel = self.parent_op()
        if isinstance(kernel, KernelOp) and kernel.num_threads != WARP_SIZE * warps:
            raise RoleError(
                f"expected a kernel with threads({WARP_SIZE * warps}) for roles of {warps} warps, "
                f"found threads({kernel.num_threads})"
            )
        given = [role.registers.value.data for role in self.roles if role.registers is not None]
        if given and len(given) != len(self.roles):
            raise RoleError(f"expected registers(...) on every role or on none, found it on {len(given)}")
        used = sum(WARP_SIZE * role.num_warps * count for role, count in zip(self.roles, given, strict=False))
        if used > REGISTER_FILE:
            raise RoleError(f"expected at most {REGISTER_FILE} registers in all roles together, found {used}")

    def _verify_crossings(self) -> None:
        owners: dict[SSAValue, RoleOp] = {}
        recomputable: set[SSAValue] = set()
        for role in self.roles:
            for value in captured(role):
                problem = _crossing_problem(value, recomputable)
                if problem is not None:
                    raise RoleCrossingError(
                        f"expected {_name(value)} to come into role @{role.sym_name.data} {problem}"
                    )
                if isinstance(value.type, TileType) and value.type.memory is not MemorySpace.GLOBAL:
                    if owners.setdefault(value, role) is not role:
                        raise RoleCrossingError(
                            f"expected a ring for {_name(value)}, a tile in {value.type.memory.place} that the roles "
                            f"@{owners[value].sym_name.data} and @{role.sym_name.data} use, found none"
                        )


def _name(value: SSAValue) -> str:
    return f"%{value.name_hint}" if value.name_hint else f"a value of type {value.type}"


def _crossing_problem(value: SSAValue, recomputable: set[SSAValue]) -> str | None:
    """Returns how else a value would have to come into a role, and what it is; None if it can be used there."""
    match value.type:
        case RingType() | MemRefType():
            return None
        case TileType() as tile if tile.memory not in (MemorySpace.GLOBAL, MemorySpace.REGISTER):
            return None
        case TileType(memory_space=MemorySpaceAttr(data=MemorySpace.REGISTER)) | PendingType():
            return "through a ring, found a register tile"
        case _:
            return (
                None
                if _is_recomputable(value, recomputable)
                else "through a ring, found a value that depends on memory"
            )


def _is_recomputable(value: SSAValue, known: set[SSAValue]) -> bool:
    """Returns True for a function of the arguments, and of what they hold for good, which every role can compute.

    `known` holds values that need no second look. It takes in those that this call looks at, and has no meaning any
    more after a call that returns False.
    """
    stack = [value]
    while stack:
        owner = stack.pop().owner
        if isinstance(owner, Block):
            if not isinstance(owner.parent_op(), KernelOp):
                return False
        elif not (is_pure(owner) or is_constant_load(owner)) or owner.regions:
            return False
        else:
            following = set(owner.operands) - known
            stack.extend(following)
            known |= following
    return True


def is_constant_load(op: Operation) -> bool:
    """Returns True for a load from an argument of the kernel that only loads use: all roles find the same there."""
    if not isinstance(op, memref.LoadOp):
        return False
    owner = op.memref.owner
    only_loads = all(isinstance(use.operation, memref.LoadOp | memref.DimOp) for use in op.memref.uses)
    return only_loads and isinstance(owner, Block) and isinstance(owner.parent_op(), KernelOp)
