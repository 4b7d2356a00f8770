"""
Shapes of programs whose compilation should take time in proportion to their size, for `benchmarks/compiler.py scaling`.

A shape is a function from the number of parts to the text of a module. Parts are alike, at places of their own in
global memory, so that nothing is left out as the same again. Those of products are in `compiler_products.py`.
"""

from __future__ import annotations

from collections.abc import Callable

Shape = Callable[[int], str]
SHAPES: dict[str, Shape] = {}
"""The name of a shape, as in the table, -> the text of a program of so many parts."""


def shape(name: str) -> Callable[[Shape], Shape]:
    """Puts a function into `SHAPES`."""

    def put(of: Shape) -> Shape:
        SHAPES[name] = of
        return of

    return put


X = "!x = !tirx.tile<4x32xf32, register>\n!c = !tirx.tile<4x1xf32, register>\n!i = !tirx.tile<4x32xi32, register>\n"
"""Types of register tiles: elements, one of each row, and integers."""


def kernel(
    body: str,
    size: int,
    *,
    aliases: str = X,
    arguments: str = "",
    clauses: str = 'target("sm_90a") grid(1) threads(32)',
    name: str = "k",
) -> str:
    """A kernel on `%a`, `%b` and `%d`, of 4 x 32 numbers for each part; `arguments` take their place."""
    rows = f"memref<{4 * size}x32xf32>"
    arguments = arguments or f"%a: {rows}, %b: {rows}, %d: {rows}"
    return f"{aliases}tirx.kernel @{name}({arguments}) {clauses} {{\n{CONSTANTS}{body}}}\n"


CONSTANTS = """\
%c0 = arith.constant 0 : index
%c1 = arith.constant 1 : index
%c4 = arith.constant 4 : index
%zero = arith.constant 0.0 : f32
"""


def load(name: str, part: int, size: int, of: str = "%a") -> str:
    """Loads the rows of a part."""
    return f"%{name} = tirx.load {of}[{4 * part}, 0] : memref<{4 * size}x32xf32> -> !x\n"


def store(name: str, part: int, size: int) -> str:
    """Stores the rows of a part."""
    return f"tirx.store %{name}, %d[{4 * part}, 0] : !x, memref<{4 * size}x32xf32>\n"


def parts(size: int, of: Callable[[int], str]) -> str:
    """The parts one after the other."""
    return "".join(of(part) for part in range(size))


def moved(size: int, of: Callable[[int], str]) -> str:
    """A kernel whose parts load `%x<part>`, do what `of` says to make `%y<part>` of it, and store that."""
    return kernel(parts(size, lambda i: load(f"x{i}", i, size) + of(i) + store(f"y{i}", i, size)), size)


# Blocks, loops and kernels.

STAGED = """\
!g = !tirx.tile<32xf32, global>
!s = !tirx.tile<32xf32, shared>
"""
HEAD = """
%x = tirx.view %a[%c0] : memref<32xf32> -> !g
%y = tirx.view %b[%c0] : memref<32xf32> -> !g
%s = tirx.alloc : !s
"""
IN, OUT = "tirx.copy %x, %s : !g, !s\n", "tirx.copy %s, %y : !s, !g\n"
VECTORS = "%a: memref<32xf32>, %b: memref<32xf32>"


def staged(body: str, name: str = "k") -> str:
    """A kernel that copies 32 numbers by way of shared memory."""
    return kernel(HEAD + body, 1, aliases="", arguments=VECTORS, name=name)


@shape("kernels")
def kernels(size: int) -> str:
    """Kernels of two copies each."""
    return STAGED + parts(size, lambda i: staged(IN + OUT, f"k{i}"))


@shape("copies one after the other")
def straight_line(size: int) -> str:
    """Copies one after the other, all of one shared tile."""
    return STAGED + staged((IN + OUT) * size)


@shape("loops one after the other")
def sibling_loops(size: int) -> str:
    """Loops of two copies one after the other."""
    return STAGED + staged(parts(size, lambda i: f"scf.for %i{i} = %c0 to %c4 step %c1 {{\n{IN}{OUT}}}\n"))


@shape("loops inside of loops")
def nested_loops(size: int) -> str:
    """Loops inside of loops, at most 64 deep, with one copy at each level; as many nests as it takes."""
    depth = min(size, 64)
    nest = parts(depth, lambda i: f"scf.for %i{i} = %c0 to %c4 step %c1 {{\n{(IN, OUT)[i % 2]}") + "}\n" * depth
    return STAGED + staged(nest * (size // depth))


@shape("branches")
def branches(size: int) -> str:
    """Branches one after the other, through which one tile goes."""

    def branch(i: int) -> str:
        return (
            f"%p{i} = arith.cmpi ult, %n, %m{i} : index\n%x{i + 1} = scf.if %p{i} -> (!x) {{\n"
            + load(f"l{i}", i, size)
            + f"%s{i} = tirx.map ins(%x{i}, %l{i} : !x, !x) (%e, %f) {{ %e + %f }} -> !x\nscf.yield %s{i} : !x\n"
            + f"}} else {{\nscf.yield %x{i} : !x\n}}\n"
        )

    numbers = parts(size, lambda i: f"%m{i} = arith.constant {i + 1} : index\n")
    begin = numbers + "%n = tirx.block_id x\n" + load("x0", 0, size, "%b")
    return kernel(begin + parts(size, branch) + store(f"x{size}", 0, size), size)


@shape("branches inside of branches")
def nested_branches(size: int) -> str:
    """Branches inside of branches, at most 32 deep, each with a load and a store."""
    depth = min(size, 32)

    def branch(i: int) -> str:
        return (
            f"%p{i} = arith.cmpi ult, %n, %m{i % depth} : index\nscf.if %p{i} {{\n"
            + load(f"x{i}", i, size)
            + store(f"x{i}", i, size)
        )

    numbers = parts(depth, lambda i: f"%m{i} = arith.constant {i + 1} : index\n")
    nests = parts(size // depth, lambda nest: parts(depth, lambda i: branch(nest * depth + i)) + "}\n" * depth)
    return kernel(f"{numbers}%n = tirx.block_id x\n{nests}", size)


@shape("loops of `scf.while`")
def while_loops(size: int) -> str:
    """Loops that end at run time, each of which doubles a tile."""

    def loop(i: int) -> str:
        return (
            f"%y{i}, %n{i} = scf.while (%t = %x{i}, %n = %c0) : (!x, index) -> (!x, index) {{\n"
            "%more = arith.cmpi ult, %n, %c4 : index\nscf.condition(%more) %t, %n : !x, index\n} do {\n"
            "^bb0(%t: !x, %n: index):\n%u = tirx.map ins(%t : !x) (%e) { %e + %e } -> !x\n"
            "%next = arith.addi %n, %c1 : index\nscf.yield %u, %next : !x, index\n}\n"
        )

    return moved(size, loop)


@shape("unrolled loops")
def unrolled(size: int) -> str:
    """Loops of at most 512 iterations, which become all of these."""
    of_loop = min(size, 512)
    m = f"memref<{4 * size}x32xf32>"

    def loop(n: int) -> str:
        first, last = 4 * n * of_loop, 4 * (n + 1) * of_loop
        return (
            f"%f{n} = arith.constant {first} : index\n%n{n} = arith.constant {last} : index\n"
            f"scf.for %i{n} = %f{n} to %n{n} step %c4 {{\n%x{n} = tirx.load %a[%i{n}, 0] : {m} -> !x\n"
            f"tirx.store %x{n}, %d[%i{n}, 0] : !x, {m}\n}} {{tirx.unroll}}\n"
        )

    return kernel(parts(size // of_loop, loop), size)


@shape("calls of functions")
def calls(size: int) -> str:
    """Calls of a function of tiles, each of which takes the result of the last one."""
    function = (
        "func.func @f(%x: !x) -> !x {\n%y = tirx.map ins(%x : !x) (%e) { %e + %e } -> !x\nfunc.return %y : !x\n}\n"
    )
    body = parts(size, lambda i: f"%x{i + 1} = func.call @f(%x{i}) : (!x) -> !x\n")
    return X + function + kernel(load("x0", 0, size) + body + store(f"x{size}", 0, size), size, aliases="")


@shape("scalars")
def scalars(size: int) -> str:
    """A chain of integers, of which each depends on the one before, and the place of a copy on the last."""
    chain = parts(size, lambda i: f"%i{i + 1} = arith.{('addi', 'muli', 'xori')[i % 3]} %i{i}, %n : index\n")
    end = f"%j = arith.remui %i{size}, %c4 : index\n%x = tirx.load %a[%j, 0] clipped : memref<4x32xf32> -> !x\n"
    return kernel(f"%n = tirx.grid_dim x\n%i0 = tirx.block_id x\n{chain}{end}{store('x', 0, 1)}", 1)


@shape("arguments")
def arguments(size: int) -> str:
    """Arguments of kernels, sixteen each, added up."""

    def sums(number: int) -> str:
        names = ", ".join(f"%a{i}: memref<4x32xf32>" for i in range(15))
        loads = parts(15, lambda i: f"%{f'x{i}' if i else 's0'} = tirx.load %a{i}[0, 0] : memref<4x32xf32> -> !x\n")
        adds = parts(
            14,
            lambda i: f"%s{i + 1} = tirx.map ins(%s{i}, %x{i + 1} : !x, !x) (%e, %f) {{ %e + %f }} -> !x\n",
        )
        body = f"{loads}{adds}tirx.store %s14, %d[0, 0] : !x, memref<4x32xf32>\n"
        return kernel(body, 1, aliases="", arguments=f"{names}, %d: memref<4x32xf32>", name=f"k{number}")

    return X + parts(size, sums)


# Register tiles.


@shape("live tiles")
def live_tiles(size: int) -> str:
    """All tiles are loaded before the first one is stored."""
    return kernel(parts(size, lambda i: load(f"x{i}", i, size)) + parts(size, lambda i: store(f"x{i}", i, size)), size)


@shape("chained maps")
def chained_maps(size: int) -> str:
    """Maps of which each takes the result of the last one."""
    body = parts(size, lambda i: f"%x{i + 1} = tirx.map ins(%x{i} : !x) (%e) {{ %e * %e }} -> !x\n")
    return kernel(load("x0", 0, size) + body + store(f"x{size}", 0, size), size)


@shape("sums of all tiles so far")
def fan_in(size: int) -> str:
    """Each tile is added to the first one and to the sum so far."""

    def part(i: int) -> str:
        return load(f"l{i}", i, size) + (
            f"%x{i + 1} = tirx.map ins(%x{i}, %l{i}, %l0 : !x, !x, !x) (%e, %f, %g) {{ %e + %f * %g }} -> !x\n"
        )

    return kernel(load("x0", 0, size, "%b") + parts(size, part) + store(f"x{size}", 0, size), size)


@shape("operations of one map")
def long_map(size: int) -> str:
    """A map with a long body."""
    body = parts(size, lambda i: f"%v{i + 1} = %v{i} * %v{i} + %e;\n").replace("%v0 ", "%e ")
    return kernel(
        f"{load('x', 0, size)}%y = tirx.map ins(%x : !x) (%e) {{\n{body}%v{size}\n}} -> !x\n{store('y', 0, size)}", size
    )


@shape("reductions")
def reductions(size: int) -> str:
    """Largest elements of rows, which are subtracted from their row, again and again."""

    def part(i: int) -> str:
        return (
            f"%m{i} = tirx.reduce %x{i} dim(1) max : !x -> !c\n"
            f"%x{i + 1} = tirx.map ins(%x{i}, %m{i} : !x, !c) (%e, %f) {{ %e - %f }} -> !x\n"
        )

    return kernel(load("x0", 0, size) + parts(size, part) + store(f"x{size}", 0, size), size)


@shape("reductions across warps")
def reductions_of_warps(size: int) -> str:
    """Sums of rows that four warps share, of other rows each time."""
    aliases = "!x = !tirx.tile<1x512xf32, register>\n!c = !tirx.tile<1x1xf32, register>\n"
    m = f"memref<{size}x512xf32>"

    def part(i: int) -> str:
        return (
            f"%x{i} = tirx.load %a[{i}, 0] : {m} -> !x\n%s{i} = tirx.reduce %x{i} dim(1) add : !x -> !c\n"
            f"tirx.store %s{i}, %d[{i}, 0] : !c, memref<{size}x1xf32>\n"
        )

    return kernel(
        parts(size, part),
        size,
        aliases=aliases,
        arguments=f"%a: {m}, %d: memref<{size}x1xf32>",
        clauses='target("sm_90a") grid(1) threads(128)',
    )


@shape("reductions with regions")
def reductions_with_regions(size: int) -> str:
    """The largest element of each row and where it is."""

    def part(i: int) -> str:
        return (
            f"%at{i} = tirx.map () {{ i32(index(1)) }} -> !i\n"
            f"%m{i}, %w{i} = tirx.reduce ins(%x{i}, %at{i} : !x, !i) dim(1) (%p, %i, %q, %j) {{\n"
            "%first = %p > %q | %p == %q & %i < %j; select(%first, %p, %q), select(%first, %i, %j)\n"
            "} -> !c, !tirx.tile<4x1xi32, register>\n"
            f"%y{i} = tirx.map ins(%x{i}, %m{i} : !x, !c) (%e, %f) {{ %e - %f }} -> !x\n"
        )

    return moved(size, part)


@shape("scans")
def scans(size: int) -> str:
    """Running sums of rows, of which each goes on from the last of the one before."""

    def part(i: int) -> str:
        return load(f"x{i}", i, size) + (
            f"%y{i}, %t{i + 1} = tirx.scan %x{i} dim(1) add init(%t{i} : !c) : !x -> !x, !c\n" + store(f"y{i}", i, size)
        )

    return kernel("%t0 = tirx.zero : !c\n" + parts(size, part), size)


@shape("scans with regions")
def scans_with_regions(size: int) -> str:
    """Recurrences h = a h + b along rows."""

    def part(i: int) -> str:
        return (
            load(f"b{i}", i, size, "%b")
            + f"%z{i}, %y{i} = tirx.scan ins(%x{i}, %b{i} : !x, !x) dim(1) (%p, %q, %r, %s) {{\n"
            + "%p * %r, %q * %r + %s\n} -> !x, !x\n"
        )

    return moved(size, part)


@shape("conversions of layouts")
def transposes(size: int) -> str:
    """Tiles that are turned: other threads hold the elements."""
    aliases = "!x = !tirx.tile<32x32xf32, register>\n"
    m = f"memref<{32 * size}x32xf32>"

    def part(i: int) -> str:
        return (
            f"%x{i} = tirx.load %a[{32 * i}, 0] : {m} -> !x\n%y{i} = tirx.transpose %x{i} [1, 0] : !x -> !x\n"
            f"tirx.store %y{i}, %d[{32 * i}, 0] : !x, {m}\n"
        )

    return kernel(parts(size, part), size, aliases=aliases, arguments=f"%a: {m}, %d: {m}")


@shape("parts of tiles")
def subviews(size: int) -> str:
    """Halves of tiles, put together the other way round."""

    def part(i: int) -> str:
        return (
            f"%l{i} = tirx.subview %x{i}[0, 0] : !x -> !h\n%r{i} = tirx.subview %x{i}[0, 16] : !x -> !h\n"
            f"%y{i} = tirx.concat %r{i}, %l{i} dim(1) : !h, !h -> !x\n"
        )

    return "!h = !tirx.tile<4x16xf32, register>\n" + moved(size, part)


# Memory.


@shape("live shared tiles")
def live_shared(size: int) -> str:
    """Shared tiles of 64 bytes, all filled before the first one is read; at most 1,024 in a kernel."""
    of_kernel = min(size, 1024)
    m = f"memref<{of_kernel}x16xf32>"

    def filled(i: int) -> str:
        return f"%s{i} = tirx.alloc : !s\ntirx.copy %a[{i}, 0], %s{i} : {m}, !s\n"

    body = parts(of_kernel, filled) + parts(of_kernel, lambda i: f"tirx.copy %s{i}, %d[{i}, 0] : !s, {m}\n")
    return "!s = !tirx.tile<1x16xf32, shared>\n" + parts(
        size // of_kernel, lambda n: kernel(body, 1, aliases="", arguments=f"%a: {m}, %d: {m}", name=f"k{n}")
    )


@shape("shared tiles of their own")
def short_shared(size: int) -> str:
    """Shared tiles that take the place of one another."""

    def part(i: int) -> str:
        return (
            f"%s{i} = tirx.alloc : !s\ntirx.copy %a[{4 * i}, 0], %s{i} : memref<{4 * size}x32xf32>, !s\n"
            f"tirx.copy %s{i}, %d[{4 * i}, 0] : !s, memref<{4 * size}x32xf32>\n"
        )

    return "!s = !tirx.tile<4x32xf32, shared>\n" + kernel(parts(size, part), size)


@shape("clipped views")
def clipped(size: int) -> str:
    """Tiles that may reach beyond a memref whose size the launch knows."""
    m = "memref<?x?xf32>"

    def part(i: int) -> str:
        return (
            f"%x{i} = tirx.load %a[{4 * i}, %n] clipped : {m} -> !x\n"
            f"tirx.store %x{i}, %d[{4 * i}, %n] clipped : !x, {m}\n"
        )

    return kernel(
        "%b = tirx.block_id x\n%n = arith.muli %b, %c4 : index\n" + parts(size, part),
        size,
        arguments=f"%a: {m}, %d: {m}",
    )


@shape("index tiles")
def gathers(size: int) -> str:
    """Rows by numbers that are read from memory."""

    def part(i: int) -> str:
        return (
            f"%n{i} = tirx.load %i[{4 * i}] : memref<{4 * size}xi32> -> !tirx.tile<4xi32, register>\n"
            f"%x{i} = tirx.load %a[[%n{i}], 0] clipped : memref<?x32xf32> -> !x\n" + store(f"x{i}", i, size)
        )

    arguments = f"%a: memref<?x32xf32>, %i: memref<{4 * size}xi32>, %d: memref<{4 * size}x32xf32>"
    return kernel(parts(size, part), size, arguments=arguments)


@shape("scatters")
def scatters(size: int) -> str:
    """Rows that are added to others by numbers that are read from memory."""

    def part(i: int) -> str:
        return (
            f"%n{i} = tirx.load %i[{4 * i}] : memref<{4 * size}xi32> -> !tirx.tile<4xi32, register>\n"
            + load(f"x{i}", i, size)
            + f"tirx.store %x{i}, %d[[%n{i}], 0] clipped reduce(add) : !x, memref<?x32xf32>\n"
        )

    arguments = f"%d: memref<?x32xf32>, %i: memref<{4 * size}xi32>, %a: memref<{4 * size}x32xf32>"
    return kernel(parts(size, part), size, arguments=arguments)


@shape("tiles by tiles of indices")
def register_gathers(size: int) -> str:
    """Elements of register tiles by index tiles."""
    begin = "!at = !tirx.tile<1x32xi32, register>\n"

    def part(i: int) -> str:
        return (
            f"%at{i} = tirx.map () {{ i32(index(1)) ^ {1 + i % 31} }} -> !at\n"
            f"%y{i} = tirx.view %x{i}[0, [%at{i}]] : !x, !at -> !x\n"
        )

    return begin + moved(size, part)


@shape("atomics")
def atomics(size: int) -> str:
    """Atomic additions whose results are stored."""

    def part(i: int) -> str:
        m = f"memref<{4 * size}x32xf32>"
        return (
            f"%r{i} = arith.constant {4 * i} : index\n"
            f"%g{i} = tirx.view %b[%r{i}, %c0] : {m} -> !tirx.tile<4x32xf32, global>\n"
            + f"%y{i} = tirx.atomic add %x{i}, %g{i} : !x, !tirx.tile<4x32xf32, global> -> !x\n"
        )

    return moved(size, part)


@shape("flags")
def flags(size: int) -> str:
    """Flags between blocks that are waited for and set."""
    m = f"memref<{4 * size}x32xf32>"

    def part(i: int) -> str:
        return (
            f"%s{i} = tirx.wait_until %f[%n, %c0] sge, %m{i} : memref<64x1xi32>\n"
            + load(f"x{i}", i, size)
            + store(f"x{i}", i, size)
            + f"tirx.signal %f[%b, %c0], %m{i} : memref<64x1xi32>\n"
        )

    begin = "%b = tirx.block_id x\n%n = arith.subi %b, %c1 : index\n" + parts(
        size, lambda i: f"%m{i} = arith.constant {i + 1} : i32\n"
    )
    return kernel(
        begin + parts(size, part),
        size,
        arguments=f"%a: {m}, %f: memref<64x1xi32>, %d: {m}",
        clauses='target("sm_90a") grid(64) threads(32) in_order',
    )
