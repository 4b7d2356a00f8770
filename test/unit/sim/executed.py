"""
Effects of each instruction: every form of `data/instructions.txt` is executed once for some sets of threads.

Two CTAs of 128 threads are made for each form, with numbers in all registers and memories, among them edges of all
types; registers that hold addresses, sizes or member masks have such. Reported are the registers, memories, barriers
and tensor memory that are no longer what they were, and all that the monitor and observers were told.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from unit.sim.forms import FORMS
from unit.sim.instructions import EDGES
from unit.sim.recorders import Heard, Recorder, changes, shown, words

from tirx.sim import SimError, TensorMap
from tirx.sim.core.arguments import bind_arguments
from tirx.sim.core.cta import Cluster, Cta, Deferred, ThreadGroup
from tirx.sim.core.mbarrier import Mbarrier
from tirx.sim.core.types import WARP, bits_type
from tirx.sim.core.wait import Outcome
from tirx.sim.hazards.monitor import Monitor, Note
from tirx.sim.isa.decoder import Decoder
from tirx.sim.isa.registry import decode
from tirx.sim.memory.addresses import GENERIC_BASE
from tirx.sim.program.code import Step
from tirx.sim.program.linker import Linked, link
from tirx.sim.reader import parse
from tirx.sim.reader.syntax import Address, Immediate, Instruction, Name, Operand, Vector
from tirx.sim.setting import Setting

Array = npt.NDArray[Any]

_THREADS = 128
_SHARED, _BARRIERS = 16384, 2
_PARAMETERS = ("g", "t1", "t2", "t3", "t4", "t5", "c3", "c4", "c5", "r")
_SLOT = 96  # bytes from the address of a lane to that of the next one
_WIDTHS = (1, 8, 16, 32, 64, 128)
TARGETS = sorted({target for target, _, refused in FORMS if not refused})
# The types of D, A and B, and of scale factors, of instruction descriptors.
INSTRUCTION_DESCRIPTORS = {
    "f16": 1 << 4, "tf32": 1 << 4 | 2 << 7 | 2 << 10, "i8": 2 << 4 | 1 << 7, "f8f6f4": 1 << 4 | 1 << 10,
    "mxf8f6f4": 1 << 23 | 1 << 7, "mxf4nvf4": 1 << 7 | 1 << 10,
}  # fmt: skip
_WARP_WIDE = ("vote", "shfl", "match", "redux", "elect", "activemask", "ldmatrix", "stmatrix", "movmatrix", "mma")
WHO = {
    **dict.fromkeys((*_WARP_WIDE, "wmma", "bar", "barrier"), ("half", "some")),
    **dict.fromkeys(("wgmma", "fence"), ("all", "some")),
    "mbarrier": ("few", "one"),
    "cp": ("few",),
    **dict.fromkeys(("tcgen05", "clusterlaunchcontrol"), ("all", "one")),
}
"""Threads that execute an instruction, if not only some of each warp."""

_FRAGMENTS = ("%f0", "%f1", "%f2", "%f3", "%r4", "%r5", "%r6", "%r7")
"""Watched registers that count as those of a wgmma.mma_async, which a wgmma.fence orders."""

_SIMPLE = frozenset(
    """add sub mul mad mul24 mad24 sad div rem abs neg min max popc clz bfind fns brev bfe bfi szext bmsk dp4a dp2a
    addc subc madc testp copysign fma rcp sqrt rsqrt set setp selp slct and or xor not cnot lop3 shf shl shr mov cvt
    prmt vadd vsub vabsdiff vmin vmax vshl vshr vmad vset vadd2 vsub2 vavrg2 vabsdiff2 vmin2 vmax2 vset2 vadd4 vsub4
    vavrg4 vabsdiff4 vmin4 vmax4 vset4 cvta isspacep ld st ldu atom red vote shfl match redux elect mma wmma
    ldmatrix stmatrix movmatrix mapa getctarank""".split()
)
"""Instructions that change nothing but registers and the contents of memory."""

# Forms that are not in the table of instructions.
_MORE = {
    "sm_100a": """
tcgen05.ld.sync.aligned.32x32b.x4.b32 {%r4, %r5, %r6, %r7}, [%r2+3]
tcgen05.ld.sync.aligned.16x64b.x4.b32 {%r4, %r5, %r6, %r7}, [%r2+1048579]
tcgen05.ld.sync.aligned.16x64b.x2.pack::16b.b32 {%r4, %r5}, [%r2+1048579]
tcgen05.ld.sync.aligned.16x128b.x2.b32 {%r4, %r5, %r6, %r7}, [%r2+1]
tcgen05.ld.sync.aligned.16x256b.x1.b32 {%r4, %r5, %r6, %r7}, [%r2+1048576]
tcgen05.ld.sync.aligned.16x256b.x1.pack::16b.b32 {%r4, %r5, %r6, %r7}, [%r2+1048577]
tcgen05.ld.sync.aligned.16x32bx2.x2.pack::16b.b32 {%r4, %r5}, [%r2+5], 7
tcgen05.ld.sync.aligned.16x32bx2.x1.b32 {%r4}, [%r2+5], 11
tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r4}, [%r2+1048576]
tcgen05.ld.sync.aligned.16x64b.x1.b32 {%r4}, [%r2+2097152]
tcgen05.ld.sync.aligned.16x64b.x1.b32 {%r4}, [%r2+65536]
tcgen05.st.sync.aligned.32x32b.x4.b32 [%r2+3], {%r4, %r5, %r6, %r7}
tcgen05.st.sync.aligned.16x64b.x4.b32 [%r2+1048579], {%r4, %r5, %r6, %r7}
tcgen05.st.sync.aligned.16x64b.x2.unpack::16b.b32 [%r2+1048579], {%r4, %r5}
tcgen05.st.sync.aligned.16x128b.x2.b32 [%r2+1], {%r4, %r5, %r6, %r7}
tcgen05.st.sync.aligned.16x256b.x1.unpack::16b.b32 [%r2], {%r4, %r5, %r6, %r7}
tcgen05.st.sync.aligned.16x32bx2.x2.unpack::16b.b32 [%r2+5], 7, {%r4, %r5}
tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%r0], %h1
mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%r0, %r1}, {%r2, %r3}, {%r4}, {%r6, %r7}
red.global.add.f32 [%d0], %f1
atom.global.add.f32 %f0, [%d0], %f1
ld.shared.u32 %r0, [%r1-16]
ld.global.v2.u32 {%r0, %r2}, [%d1-16]
ld.shared.u8 %r0, [s+4]
st.shared.v2.u32 [%r2+8], {%r4, %r5}
st.global.u64 [%d1-8], %d2
set.lt.s32.f32 %r0, %f1, %f2
set.ge.and.s16.f16 %h0, %h1, %h2, %p0
""",
}

_ACCESSES = ("ld", "st", "ldu", "atom", "red", "ldmatrix", "stmatrix", "wmma")
"""Instructions among them that access memory."""

_CONTROL = ("bra", "brx", "call", "ret", "exit", "trap", "brkpt")
_VARYING = re.compile("stacksave|alloca")
_DECLARATIONS = f""".reg .pred %p<8>; .reg .b8 %b<8>; .reg .b16 %h<16>; .reg .b32 %r<32>; .reg .b64 %d<16>;
  .reg .f32 %f<16>; .reg .f64 %g<8>; .reg .b128 %q<8>; .shared .align 1024 .b8 s[{_SHARED}];
  .shared .align 8 .b64 bar[{_BARRIERS}];"""


def root_of(form: str) -> str:
    parts = form.partition(" ")[0].split(".")
    return ".".join(parts[: 2 if parts[0] == "tcgen05" else 1])


@dataclass
class _Target:
    """The forms of a target, not decoded yet, in one kernel behind its end."""

    linked: Linked
    code: dict[str, Instruction]
    text: str


@cache
def _target(target: str, watched: bool = False) -> _Target:
    forms = [form for own, form, refused in FORMS if own == target and not refused and root_of(form) not in _CONTROL]
    forms += _MORE.get(target, "").strip().splitlines()
    forms = [form for form in dict.fromkeys(forms) if not _VARYING.search(form)]
    parameters = ", ".join(f".param .u64 {name}" for name in _PARAMETERS)
    text = f""".version 9.3\n.target {target}\n.address_size 64
.visible .entry k({parameters}) {{ {_DECLARATIONS} ret; {" ".join(f"{form};" for form in forms)} }}"""
    module = parse(text)
    instructions = module.functions["k"].code[1:]
    linked = link(module, "k", check=None)
    for instruction in instructions:  # so that all registers have a place
        try:
            decode(Decoder(linked.symbols, instruction))
        except SimError:
            pass
    if watched:
        scope, names = instructions[0].scope, [each.name for each in linked.symbols.watch_all()]
        found = [register for name in names if (register := linked.symbols.register(scope, name)) is not None]
        linked.symbols.watch(found, {id(each) for each in found if each.name in _FRAGMENTS})
    return _Target(linked, dict(zip(forms, instructions, strict=True)), text)


@cache
def _numbers(bits: int, rows: int) -> Array:
    """Registers of a width: edges in two warps, any bits in one, and moderate numbers of all types in one."""
    rng = np.random.default_rng(bits)
    size = max(1, bits // 8)
    found = rng.integers(0, 256, (rows, _THREADS, size), np.uint8)
    if bits in EDGES:
        lane, row = np.arange(64)[None, :], np.arange(rows)[:, None]
        edges = np.array(EDGES[bits], f"u{size}")[((2 * row + 1) * lane + (lane >> 4) * (row + 3)) & 15]
        found[:, :64] = edges.view(np.uint8).reshape(rows, 64, size)
    found[:, 96:] = rng.integers(0x38, 0x42, (rows, 32, size)) | rng.integers(0, 2, (rows, 32, size)) << 7
    if bits == 1:
        return (found[..., 0] & 1).astype(np.bool_)
    return found.view(bits_type(bits).dtype)[..., 0]


_COPIED = np.random.default_rng(8).integers(0, 256, 1 << 15, np.uint8)
_COPIED[: 341 * _SLOT].reshape(-1, _SLOT)[1::3] = 0  # so that sums are as small as what is added
_SHARED_BYTES = np.resize(_COPIED[5 : 5 + 8191], 2 * _SHARED)
_TENSOR = np.random.default_rng(9).integers(0x38, 0x42, (128, 512, 4), np.uint8).view(np.uint32)[..., 0]
_TILES = [np.arange(np.prod(shape), dtype=np.uint32).reshape(shape) for shape in (
    (64,), (12, 16), (6, 4, 8), (3, 6, 4, 8), (2, 3, 4, 4, 8))]  # fmt: skip


class Scene:
    """A cluster of a target's kernel, which executes one form after another, and what it was like before."""

    def __init__(self, target: str, watched: bool = False):
        own = _target(target, watched)
        self.log: list[str] = []
        self.linked = own.linked
        self.code = own.code
        setting = Setting(own.text, "k", (2, 1, 1), (_THREADS, 1, 1), (2, 1, 1), 0, None, "hardware", None, None, 64)
        # One array after another in memory, as addresses follow the order there.
        memory = np.zeros(1 << 16, np.uint8)
        self.data, at = memory[: _COPIED.size], _COPIED.size
        memories = self.linked.symbols.memories({})
        program = self.linked.program()
        if watched:
            program.watched = tuple(each.name for each in self.linked.symbols.watch_all())
            program.initially_undefined = (False,) * len(program.watched)
        self.launch = setting.launch(program, memories, Heard(self.log), lambda _: None)
        self.launch.executed = 0x1_2345_6789
        self.launch.new_monitor = self._new_monitor
        self.tiles: list[Array] = []
        for each in _TILES:
            at += 256
            self.tiles.append(memory[at : at + each.nbytes].view(each.dtype).reshape(each.shape))
            at += each.nbytes
        maps = [TensorMap(each, (4,) * each.ndim if each.ndim > 1 else (8,)) for each in self.tiles]
        pixels = [
            TensorMap.im2col(each, (1 - corners,) * corners, (1 - corners,) * corners, 4, 6)
            for corners, each in enumerate(self.tiles[2:], 1)
        ]
        rows = TensorMap(self.tiles[1], (8, 1))
        bind_arguments(self.launch, [self.data, *maps, *pixels, rows])
        self.pointers = self.launch.parameters.data.view(np.uint64).tolist()
        scope = next(iter(self.code.values())).scope
        self.variables: dict[str, int] = {}
        for name in ("s", "bar"):
            variable = scope.variable(name)
            assert variable is not None
            self.variables[name] = self.linked.symbols.place(variable).address
        self._maps = self.launch.global_memory.bytes_at(self.pointers[2], 128, "a tensor map", writes=True)
        self._map = self._maps.copy()
        self._fresh()

    def _new_monitor(self, ctas: int, lanes: int, note: Note) -> Monitor:
        return Recorder(self.log)

    def _fresh(self) -> None:
        self.cluster = Cluster(self.launch, (0, 0, 0))
        self._banks = [self.cta.groups[0].banks[bits_type(bits).bank] for bits in _WIDTHS]

    def prepare(self, instruction: Instruction, mask: Array, *, checks: bool) -> None:
        """Makes everything as it was, and gives registers values that the instruction can do something with."""
        if instruction.root not in _SIMPLE:
            self._fresh()
        self.launch.checks = checks
        self.launch.notes.clear()
        self.accesses = instruction.root not in _SIMPLE or instruction.root in _ACCESSES
        if self.accesses:
            self._fill(instruction)
        for bank, bits in zip(self._banks, _WIDTHS, strict=True):
            bank[:] = _numbers(bits, 64)[: len(bank)]
        self.cta.carry[:] = np.arange(_THREADS) % 3 == 0
        self.has_tensors = instruction.root == "tcgen05"
        self._prepare(self.linked, instruction, mask)
        self.log.clear()

    def _fill(self, instruction: Instruction) -> None:
        """Makes the memories as they were."""
        self.data[:] = _COPIED
        for each, tile in zip(self.tiles, _TILES, strict=True):
            each[:] = tile
        self._maps[:] = self._map
        for cta in self.cluster.ctas:
            cta.shared.data[:] = _SHARED_BYTES[: len(cta.shared.data)]
            if instruction.root == "tensormap":
                cta.shared.data[self.variables["s"] :][:128] = self._map
            cta.mbarriers = {self.variables["bar"] + 8 * at: Mbarrier(200, cta.monitor) for at in range(_BARRIERS)}

    @property
    def cta(self) -> Cta:
        return self.cluster.ctas[0]

    def _set(self, linked: Linked, instruction: Instruction, name: str, values: Any) -> None:
        register = linked.symbols.register(instruction.scope, name)
        if register is not None and register.type.bits in (1, 16, 32, 64):
            bank = bits_type(register.type.bits)
            rows = self.cta.groups[0].banks[bank.bank]
            if register.row >= len(rows):
                return
            row = rows[register.row]
            row[:] = np.broadcast_to(np.asarray(values, np.uint64), row.shape).astype(bank.dtype)

    def _prepare(self, linked: Linked, instruction: Instruction, mask: Array) -> None:
        """Gives registers that are no numbers a meaning."""
        opcode, root = instruction.opcode, instruction.root
        lanes = np.arange(_THREADS, dtype=np.uint64)

        def put(name: str, values: Any) -> None:
            self._set(linked, instruction, name, values)

        if root in ("vote", "match", "shfl", "redux", "elect", "bar", "barrier"):
            here = (mask.reshape(-1, 32) << lanes[:32]).sum(axis=1, dtype=np.uint64).repeat(32)
            halves = here if "warp" in opcode else np.where(lanes % 32 < 11, 0x7FF, 0xFFFFF800)
            members = here & np.where(lanes // 32 == 2, halves, 0xFFFFFFFF).astype(np.uint64)
            for name in ("%r0",) if "warp" in opcode else ("%r1",) if root in ("vote", "elect") else ("%r2", "%f2"):
                put(name, members)
            if root == "shfl":
                put("%r4", members)
        if root in ("bar", "barrier") and "warp" not in opcode:
            put("%r0", 3)
            put("%r1", 64 if root == "bar" else 5)
            self.cta.cluster_generation[:] = 0 if "cluster.wait" in opcode else -1
        if root in ("cvta", "isspacep"):
            spaces = ["shared", "local", "param", "const", "global"]
            named = [each for each in spaces if f"to.{each}" in opcode]
            bases = [GENERIC_BASE.get(each, self.pointers[0]) for each in named or spaces]
            put("%d1", np.array(bases, np.uint64)[lanes.astype(int) % len(bases)] + 8 * lanes)
        if root in ("cp", "tcgen05", "clusterlaunchcontrol", "mbarrier", "mapa", "red", "st", "tensormap"):
            for index in range(16):
                put(f"%h{index}", 0 if "::w" in opcode else 1 + index % 2)
            for index in range(32):
                put(f"%r{index}", 32 if "bulk" in opcode and "tensor" not in opcode else index % 3)
        if root == "cp" and "bulk" not in opcode:
            put("%r1", lanes % 6)
        if root == "mbarrier":
            put("%r1", 1)
            put("%d1", lanes % 2)
        if root in ("mapa", "getctarank"):
            put("%r1", lanes % 2)
        if ".sp" in opcode:
            codes = np.array([0x44444444, 0xEEEEEEEE, 0x9D4E9D4E, 0x4E8C4E8C])[lanes.astype(int) // 4 % 4]
            codes = np.array([0x44444444, 0xE4E44EE4])[lanes.astype(int) // 4 % 2] if "tf32" in opcode else codes
            for index in (0, 8, 14, 16, 18):
                put(f"%r{index}", codes)
        if "block_scale" in opcode:
            put("%r16", 0x3E403D30 + lanes % 16)
            put("%r17", 0x41383C3A + lanes % 5)
        if root == "wgmma":
            self._descriptors(put, [2 * each for each in (0, 4096)])
            put("%p0", 1)
        if root == "tcgen05":
            self._prepare_tensor_memory(instruction, put)
        if root == "st" and "bulk" in opcode:
            put("%d1", 24)
        for operand in instruction.operands:
            self._address(linked, instruction, operand, put)

    def _descriptors(self, put: Callable[[str, Any], None], places: list[int]) -> None:
        for index, place in enumerate(places):
            put(f"%d{index}", 8 << 16 | 16 << 32 | (self.variables["s"] + place >> 4))

    def _prepare_tensor_memory(self, instruction: Instruction, put: Callable[[str, Any], None]) -> None:
        """
        Allocates all columns. D begins at column 4, A at 256, scale factors at 64 and 80, and metadata at 64.
        """
        opcode, pair = instruction.opcode, ".cta_group::2" in instruction.opcode
        start = self.variables["s"] >> 4
        put("%r0", 480 if "dealloc" in opcode else 4)
        put("%r2", 64 if "mma" in opcode else np.arange(_THREADS) // 32 << 21 | 8)
        put("%r3", 80)
        put("%p0", 1)
        put("%d2", 0)
        put("%d0", 1 << 46 | 8 << 16 | 16 << 32 | start)
        put("%d1", 1 << 46 | 8 << 16 | 16 << 32 | start + 256)
        kind = next((each for each in INSTRUCTION_DESCRIPTORS if f"kind::{each}" in opcode), None)
        if kind is not None:
            in_memory = instruction.text.partition("],")[2].lstrip().startswith("[")
            n, m = (8, 4 if ".ws" in opcode else 16 if pair else 8) if "mx" not in kind else (4, 8)
            word = INSTRUCTION_DESCRIPTORS[kind] | n << 17 | m << 24 | 4 * (".sp" in opcode)
            put("%r2" if in_memory else "%r1", word)
            if in_memory:
                put("%r1", 256)
        if "alloc" in opcode and "dealloc" not in opcode:
            return
        for cta in self.cluster.ctas:
            if "dealloc" in opcode:
                cta.tensor.allocate(32, 1 + pair)
                continue
            cta.tensor.allocate(512, 1 + pair)
            cta.tensor.values[:, : _TENSOR.shape[1]] = _TENSOR
            for first in (64, 160):
                cta.tensor.values[32:, first : first + 32] = np.tile(_TENSOR[:32, first : first + 32], (3, 1))
            if ".sp" in opcode:
                cta.tensor.values[:, 64:72] = 0x44EE4EE4
            cta.tensor.values[:, 196:204] = 0x44EE4EE4

    def _address(
        self, linked: Linked, instruction: Instruction, operand: Operand, put: Callable[[str, Any], None]
    ) -> None:
        if isinstance(operand, Vector):
            for each in operand.items:
                self._address(linked, instruction, each, put)
        if not isinstance(operand, Address) or not isinstance(operand.base, Name):
            return
        name, opcode, lanes = operand.base.name, instruction.opcode, np.arange(_THREADS, dtype=np.uint64)
        register = linked.symbols.register(instruction.scope, name)
        if register is None:
            return
        if instruction.root == "tcgen05" and ".alloc" not in opcode and ".commit" not in opcode:
            return
        number = int(name[2:])
        if ".alloc" in opcode or ".commit" in opcode:
            put(name, self.variables["s" if ".alloc" in opcode else "bar"] + 0 * lanes)
            return
        if operand.rest:  # a tensor map
            rank = int(found[1]) if (found := re.search(r"\.([1-5])d", opcode)) else 1
            rows = "gather4" in opcode or "scatter4" in opcode
            put(name, self.pointers[9 if rows else rank + 3 if "im2col" in opcode else rank])
        elif instruction.root == "tensormap":
            put(name, self.variables["s"] if register.type.bits == 32 else self.pointers[2])
        elif instruction.root == "mbarrier" and "init" in opcode:
            put(name, self.variables["s"] + 8 * lanes + (GENERIC_BASE["shared"] if register.type.bits == 64 else 0))
        elif (number == 3 and "bulk_group" not in opcode) or instruction.root == "mbarrier":
            generic = register.type.bits == 64 and ".shared" not in opcode
            put(name, self.variables["bar"] + (GENERIC_BASE["shared"] if generic else 0))
        elif ".tensormap" in opcode and instruction.root == "fence":
            put(name, self.pointers[1 + number])
        elif ".tensor" in opcode:
            put(name, self.variables["s"] + 128 * (lanes % 60))
        elif register.type.bits == 32 or ".shared" in opcode and ".global" not in opcode:
            put(name, self.variables["s"] + _SLOT * lanes + 16 * (number % 3))
        else:
            put(name, self.pointers[0] + _SLOT * lanes + 16 * (number % 3) + 4096)

    def _state(self) -> dict[str, Array]:
        """Everything that an instruction may change, but registers."""
        if not self.accesses:
            return {"carry": self.cta.carry}
        found: dict[str, Array] = {"global": self.data, "map": self._maps, "carry": self.cta.carry}
        found |= {f"tile {index + 1}": each for index, each in enumerate(self.tiles)}
        for cta in self.cluster.ctas:
            barriers = [
                (at, each.phase, each.pending, each.transactions, each.count) for at, each in cta.mbarriers.items()
            ]
            found[f"shared {cta.rank}"] = cta.shared.data
            found[f"mbarriers {cta.rank}"] = np.array(barriers, np.int64)
            found[f"generation {cta.rank}"] = cta.cluster_generation
            found[f"allocations {cta.rank}"] = np.array(sorted(cta.tensor.allocations.items()), np.int64)
            if self.has_tensors:
                found[f"tensor {cta.rank}"] = cta.tensor.values[:, : _TENSOR.shape[1]]
        return found

    def execute(self, step: Step, mask: Array, *, defers: int = 0) -> str:
        """Executes an instruction for the threads of `mask`, and says what is different then."""
        before = {name: each.copy() for name, each in self._state().items()}
        registers = [each.copy() for each in self._banks]
        group = self.cta.groups[0]
        if mask is MASKS["half"]:
            group = ThreadGroup(self.cta, 64, _THREADS, 0, mask[64:])
            mask = group.mask
        group.wait, group.deferred = None, None
        try:
            outcomes = [self._step(step, group, mask)]
            group.defers = bool(defers)
            for _ in range(defers):
                outcomes.append(step(group, mask))
                waiting = cast("Deferred | None", group.deferred)
                rows = None if waiting is None else sorted(waiting.rows)
                self.log.append(f"waits for {rows} of b32")
            group.finish_deferred()
            while self.cluster.events:
                self.cluster.events.popleft()()
            said = ", ".join("done" if each is None else each.name for each in outcomes)
        except SimError as error:
            said = error.message
        group.defers = False
        told = [": ".join(each) for each in self.launch.notes]
        for bits, bank, old in zip(_WIDTHS, self._banks, registers, strict=True):
            for row in np.flatnonzero((bank.view(np.uint8) != old.view(np.uint8)).any(axis=1)).tolist():
                told.append(f"b{bits} {row}={words(bank[row])}")
        after = self._state().items()
        told += [changes(name, before[name], each) for name, each in after if each.tobytes() != before[name].tobytes()]
        return "; ".join([said, *told, *self.log])

    def observed(self, action: Callable[[], None], times: int) -> str:
        """Says what an action, so many times, does to tensor memory, and what it tells."""
        self.log.clear()
        before = [cta.tensor.values.copy() for cta in self.cluster.ctas]
        said = "done"
        try:
            for _ in range(times):
                action()
                waiting = [cta.tensor.deferred for cta in self.cluster.ctas]
                self.log.append(f"waiting: {[each is not None and waiting.count(each) for each in waiting]}")
        except SimError as error:
            said = error.message
        after = [cta.tensor.values for cta in self.cluster.ctas]
        changed = [shown(new[:, (new != old).any(axis=0)]) for old, new in zip(before, after, strict=True)]
        notes = [": ".join(each) for each in self.launch.notes]
        self.launch.notes.clear()
        return "; ".join([said, *changed, *self.log, *notes])

    def _step(self, step: Step, group: ThreadGroup, mask: Array) -> Outcome | None:
        outcome = step(group, mask)
        if outcome not in (Outcome.SPLIT, Outcome.SPLIT_WARPGROUPS):
            return outcome
        whole = self.cta.groups
        cta, parts, own = self.cta, range(group.first, group.last, WARP), mask.reshape(-1, WARP)
        cta.groups = [
            ThreadGroup(cta, first, first + WARP, 0, each.copy()) for first, each in zip(parts, own, strict=True)
        ]
        try:
            for each in cta.groups:
                if each.mask.any() and (outcome := step(each, each.mask)) is not None:
                    self.log.append(f"warp {each.warp}: {outcome.name}")
                each.finish_deferred()
        finally:
            cta.groups = whole
        return None


MASKS = {
    "all": np.ones(_THREADS, np.bool_),
    "some": np.random.default_rng(3).random(_THREADS) < 0.4,
    "half": np.arange(_THREADS) >= 64,
    "few": np.arange(_THREADS) % 41 == 9,
    "one": np.arange(_THREADS) == 37,
}
scene_of = cache(Scene)


def _wrong(instruction: Instruction) -> Iterator[Instruction]:
    """The instruction with an operand more, with one fewer, and with a modifier that nobody knows at each end."""
    operands, parts = instruction.operands, instruction.opcode.split(".")
    yield replace(instruction, operands=(*operands, Immediate("integer", 5)))
    yield replace(instruction, operands=operands[:-1])
    yield replace(instruction, opcode=f"{instruction.opcode}.nosuch")
    yield replace(instruction, opcode=".".join([*parts[:-1], "nosuch", *parts[-1:]]))


def _refusals(scene: Scene, form: str) -> Iterator[str]:
    for each in _wrong(scene.code[form]):
        scene.linked.symbols.cta_group = None
        try:
            decode(Decoder(scene.linked.symbols, each))
            yield f"{form}: decoded"
        except SimError as error:
            yield f"{form}: {error.message}"


def _executions(target: str, form: str) -> Iterator[str]:
    scene = scene_of(target)
    instruction = scene.code[form]
    scene.linked.symbols.cta_group = None
    decoder = Decoder(scene.linked.symbols, instruction)
    try:
        step = decode(decoder)
    except SimError as error:
        yield f"{form}: {error.message}"
        return
    lists = (decoder.uses, decoder.definitions, decoder.pending, decoder.fragments)
    names = [" ".join(each.name for each in registers) for registers in lists]
    yield f"{form}: {'; '.join(names)}; {None if decoder.needed is None else sorted(decoder.needed)}"
    yield from _refusals(scene, form)
    scene.linked.symbols.cta_group = None
    who = WHO.get(instruction.root, ("some",))
    if instruction.root == "tensormap":
        who = ("all",) if "aligned" in instruction.opcode else ("few",)
    for index, name in enumerate(who):
        scene.prepare(instruction, MASKS[name], checks=index == 0)
        yield f"{form} ({name}): {scene.execute(step, MASKS[name])}"
    if instruction.root in ("mma", "wgmma"):
        scene.prepare(instruction, MASKS[who[0]], checks=False)
        yield f"{form} (deferred): {scene.execute(step, MASKS[who[0]], defers=3)}"


def executions(root: str) -> str:
    """Effects of all forms of an instruction."""
    with np.errstate(all="ignore"):
        return "\n".join(
            line
            for target in TARGETS
            for form in _target(target).code
            if root_of(form) == root
            for line in _executions(target, form)
        )


EXECUTED = sorted({root_of(form) for target in TARGETS for form in _target(target).code})
"""Every instruction that is executed."""
