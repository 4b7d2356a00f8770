"""Random kernels whose blocks combine elements in one step, and wait for the blocks before them."""

from __future__ import annotations

import random

from fuzz.targets import TARGETS

_KINDS = {
    "i32": ("add", "min", "max", "and", "or", "xor"),
    "i64": ("add", "min", "max", "and", "or", "xor"),
    "f16": ("add",),
    "f32": ("add", "min", "max"),
    "f64": ("add",),
}


def random_flags(rng: random.Random) -> str:
    """
    Returns the text of a kernel in which each block adds to its tile what some blocks before it have made of theirs.

    All of them combine their results, too, with one tile, whose elements do not depend on the order.
    """
    element, blocks, threads = rng.choice(list(_KINDS)), rng.randint(2, 5), rng.choice((32, 64, 128))
    rows, columns = rng.choice((1, 2, 4)), rng.choice((8, 16, 32, 40))
    kind, flag = rng.choice(_KINDS[element]), rng.choice(("i32", "i64"))
    size = rng.choice((columns, columns - 3))
    g, x, s = (f"!tirx.tile<{rows}x{columns}x{element}, {memory}>" for memory in ("global", "register", "shared"))
    a, flags = f"memref<?x{size}x{element}>", f"memref<{blocks}x2x{flag}>"
    clipped = " clipped" if size < columns or rng.random() < 0.5 else ""
    staged = rng.random() < 0.4
    read = [f"  tirx.copy %gk, %s : {g}, {s}", f"  %y = tirx.load %s : {s} -> {x}"]
    write = [f"tirx.store %r, %s : {x}, {s}", f"tirx.copy %s, %gd : {s}, {g}"]
    lines = [
        "%c0 = arith.constant 0 : index",
        "%c1 = arith.constant 1 : index",
        f"%rows = arith.constant {rows} : index",
        f"%big = arith.constant 90 : {flag}",
        f"%set = arith.constant 100 : {flag}",
        "%i = tirx.block_id x",
        f"%from = arith.constant {rng.choice((0, 0, 1))} : index",
        "%m = arith.muli %i, %rows : index",
        f"%ga = tirx.view %a[%m, %c0]{clipped} : {a} -> {g}",
        f"%gd = tirx.view %d[%m, %c0]{clipped} : {a} -> {g}",
        f"%ge = tirx.view %e[%c0, %c0]{clipped} : {a} -> {g}",
        f"%v = tirx.load %ga : {g} -> {x}",
        f"%s = tirx.alloc : {s}",
        f"%r = scf.for %k = %from to %i step %c1 iter_args(%p = %v) -> ({x}) {{",
        f"  %seen = tirx.wait_until %flags[%k, %c1] {rng.choice(('sge', 'ugt', 'uge', 'sgt'))}, %big : {flags}",
        "  %n = arith.muli %k, %rows : index",
        f"  %gk = tirx.view %d[%n, %c0]{clipped} : {a} -> {g}",
        *(read if staged else [f"  %y = tirx.load %gk : {g} -> {x}"]),
        f"  %z = tirx.map ins(%p, %y : {x}, {x}) {{",
        f"  ^bb0(%t: {element}, %u: {element}):",
        f"    %w = arith.{'addi' if element[0] == 'i' else 'addf'} %t, %u : {element}",
        f"    tirx.yield %w : {element}",
        f"  }} -> {x}",
        f"  scf.yield %z : {x}",
        "}",
        *(write if staged else [f"tirx.store %r, %gd : {x}, {g}"]),
        f"%old = tirx.atomic {kind} %v, %ge{rng.choice(('', ' sys', ' acq_rel'))} : {x}, {g} -> {x}",
        f"tirx.signal{rng.choice(('', ' add'))} %flags[%i, %c1], %set : {flags}",
    ]
    body = "\n  ".join([*lines, "tirx.return"])
    head = f'tirx.kernel @k(%a: {a}, %flags: {flags}, %e: {a}, %d: {a}) target("{rng.choice(TARGETS)}")'
    return f"{head} grid({blocks}) threads({threads}) in_order {{\n  {body}\n}}\n"
