"""The last legal and the first illegal numbers of limits that the operations, types and attributes have."""

from __future__ import annotations

from unit.cases import together

from tirx.diagnostics import LocatedError
from tirx.text.parsing import parse_located
from tirx.text.verification import verify_located
from tirx.universe import new_context


def _instruction(text: str, target: str = "sm_90a") -> str:
    return f'ptx.entry @k() target("{target}") {{\n%s = ptx.shared_alloc @s bytes 8 align 8\n{text}\nptx.ret\n}}'


def _kernel(clauses: str, text: str = "") -> str:
    return f'tirx.kernel @k() target("sm_90a") {clauses} {{\n{text}\ntirx.return\n}}'


def _role(text: str, threads: str = "128") -> str:
    return _kernel(f"threads({threads})", f"tirx.roles {{\ntirx.role @a {text} {{\n}}\n}}")


def _attribute(text: str) -> str:
    return f'"test.op"() {{a = {text}}} : () -> ()'


def _map(text: str) -> str:
    return _attribute(f'#tirx.tensor_map<argument = 0, type = "f16", {text}>')


def _registers(text: str) -> str:
    return _attribute(f"!tirx.tile<1xi8, register, #tirx.tile_layout<S[1 : 1] + {text}>>")


_BARRIER = "expected a barrier from 0 to 15, found <N>"
_COUNT = "expected an arrival count from 1 to 2^20 - 1, found <N>"
_BYTES = "expected a transaction count from 0 to 2^20 - 1 bytes, found <N>"
_MASK = "expected a non-zero mask of 32 lanes, found "
_GRID = "expected a grid of 1 to 3 positive extents of at most 2147483647, 65535, 65535, found "
_CLUSTER = "expected cluster(2), a pair of blocks, cluster(2 to 8) per_cta, or no cluster, found cluster(<N>)"
_IN_STEPS = "expected registers in steps of 8 from 24 to 256, found <N>"
_COLUMNS = (
    "expected a power of two of columns from 32 to 512, found <N>; round up with allocation_columns [alloc-columns]"
)

# A text with a number <N>, one that is legal, the next one, which is not, and what is said of it.
_LIMITS = [
    (_instruction("ptx.bar.sync <N>"), 0, -1, _BARRIER),
    (_instruction("ptx.bar.sync <N>"), 15, 16, _BARRIER),
    (_instruction("ptx.bar.sync 1 threads <N>"), 32, 0, "expected a positive multiple of 32 threads, found <N>"),
    (_instruction("ptx.bar.warp.sync mask <N>"), 1, 0, f"{_MASK}0x0"),
    (_instruction("ptx.bar.warp.sync mask <N>"), 2**32 - 1, 2**32, f"{_MASK}0x100000000"),
    (_instruction("ptx.mbarrier.init %s, <N>"), 1, 0, _COUNT),
    (_instruction("ptx.mbarrier.init %s, <N>"), 2**20 - 1, 2**20, _COUNT),
    (_instruction("ptx.mbarrier.arrive %s, <N>"), 1, 0, _COUNT),
    (_instruction("ptx.mbarrier.arrive %s, <N>"), 2**20 - 1, 2**20, _COUNT),
    (_instruction("ptx.mbarrier.arrive.expect_tx %s, <N>"), 0, -1, _BYTES),
    (_instruction("ptx.mbarrier.arrive.expect_tx %s, <N>"), 2**20 - 1, 2**20, _BYTES),
    (_instruction("ptx.setmaxnreg dec <N>"), 24, 16, "expected a multiple of 8 registers from 24 to 256, found <N>"),
    (_instruction("ptx.setmaxnreg dec <N>"), 256, 264, "expected a multiple of 8 registers from 24 to 256, found <N>"),
    (_instruction("wgmma.wait_group <N>"), 0, -1, "expected 0 to 7 pending groups, found <N>"),
    (_instruction("wgmma.wait_group <N>"), 7, 8, "expected 0 to 7 pending groups, found <N>"),
    (_instruction("ptx.cp.async.wait_group <N>"), 0, -1, "expected 0 or more pending groups, found <N>"),
    (_instruction("ptx.cp.async.bulk.wait_group <N>"), 0, -1, "expected 0 or more pending groups, found <N>"),
    (_instruction("tcgen05.alloc %s columns <N>", "sm_100a"), 32, 16, _COLUMNS),
    (_instruction("tcgen05.alloc %s columns <N>", "sm_100a"), 512, 1024, _COLUMNS),
    (_instruction("%t = ptx.shared_alloc @t bytes <N> align 8"), 1, 0,
     "expected a positive number of bytes, found <N>"),
    (_instruction("%t = ptx.shared_alloc @t bytes 1 align <N>"), 2**30, 2**31,
     "expected alignment to at most 1073741824 bytes, found <N>"),
    ('ptx.entry @k() target("sm_100a") per_cta_memory(<N>) {\nptx.ret\n}', 2**32 - 1, 2**32,
     "expected per_cta_memory from 0 to 4294967295, found <N>"),
    (_kernel("threads(<N>)"), 1024, 1056, "expected 1 to 1024 threads, found <N>"),
    (_kernel("threads(<N>)"), 32, 0, "expected 1 to 1024 threads, found <N>"),
    (_kernel("grid(<N>) threads(32)"), 1, 0, f"{_GRID}(<N>)"),
    (_kernel("grid(<N>) threads(32)"), 2**31 - 1, 2**31, f"{_GRID}(<N>)"),
    (_kernel("grid(1, <N>) threads(32)"), 65535, 65536, f"{_GRID}(1, <N>)"),
    (_kernel("grid(1, 1, <N>) threads(32)"), 65535, 65536, f"{_GRID}(1, 1, <N>)"),
    (_kernel("threads(32) cluster(<N>)"), 2, 1, _CLUSTER),
    (_kernel("threads(32) cluster(<N>)"), 2, 3, _CLUSTER),
    (_kernel("threads(32) cluster(<N>) per_cta"), 2, 1, _CLUSTER),
    (_kernel("threads(32) cluster(<N>) per_cta"), 8, 9, _CLUSTER),
    (_kernel("threads(32)", "tirx.for @k %k = 0 to <N> {\n}"), 0, -1, "expected 0 or more iterations, found <N>"),
    (_kernel("threads(32)", "tirx.for @k %k = 0 to 3 skew(<N>) {\n}"), 0, -1,
     "expected a skew of 0 or more, found <N>"),
    (_kernel("threads(32)", "tirx.for @k %k = 0 to 3 skew(<N>) {\n}"), 256, 257,
     "expected a skew of at most 256, found <N>"),
    (_role("warps(<N>)", "1024"), 32, 33, "expected 1 to 32 warps, found <N>"),
    (_role("warps(4) registers(<N>)"), 24, 16, _IN_STEPS),
    (_role("warps(4) registers(<N>)"), 256, 264, _IN_STEPS),
    (_role("warps(32) registers(<N>)", "1024"), 64, 72,
     "expected at most 65536 registers in all roles together, found 73728"),
    (_attribute("!tirx.tile<<N>xi8, shared>"), 2**20, 2**20 + 1, "expected at most 1048576 elements, found <N>"),
    (_attribute("!tirx.ring<!tirx.tile<<N>xi16, shared>>"), 2**19 - 1, 2**19,
     "expected slots of less than 1048576 bytes, found 1048576"),
    (_registers("R[<N> : 1@bx]"), 1024, 1025,
     "expected at most 1024 copies of every element, found <N> in S[1 : 1] + R[<N> : 1@bx]"),
    (_registers("<N>@m"), 2**16 - 1, 2**16,
     "expected at most 65536 elements in a thread, found 65537 in S[1 : 1] + <N>"),
    (_attribute("!tirx.tile<1xi8, shared, #tirx.tile_layout<S[1 : 1] + <N>@m>>"), 2**48 - 1, 2**48,
     "expected coordinates below 2^48, found <N> in S[1 : 1] + <N>"),
    (_map("dims = [128], strides = [], box = [<N>]"), 8, 0, "expected sizes of a box from 1 to 256, found [<N>]"),
    (_map("dims = [128], strides = [], box = [<N>]"), 256, 264, "expected sizes of a box from 1 to 256, found [<N>]"),
    (_map("dims = [128, 8], strides = [256], box = [64, 8], steps = [1, <N>]"), 1, 0,
     "expected steps from 1 to 8, found [1, <N>]"),
    (_map("dims = [128, 8], strides = [256], box = [64, 8], steps = [1, <N>]"), 8, 9,
     "expected steps from 1 to 8, found [1, <N>]"),
    (_map("dims = [128], strides = [], box = [64], steps = [<N>]"), 1, 2,
     "expected 1 steps, 1 along the innermost dimension, found [<N>]"),
]  # fmt: skip


def _said(text: str, number: int) -> str | None:
    try:
        verify_located(parse_located(new_context(), text.replace("<N>", str(number)), "<input>"))
    except LocatedError as error:
        return error.diagnostic.message
    return None


@together(("text", "legal", "illegal", "message"), _LIMITS)
def test_limits(text: str, legal: int, illegal: int, message: str) -> None:
    assert (_said(text, legal), _said(text, illegal)) == (None, message.replace("<N>", str(illegal)))
