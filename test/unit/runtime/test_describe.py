"""Uses that a kernel makes of its arrays, read from instructions; the text of descriptors."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from unit.cases import together
from unit.runtime.test_launch import LAUNCH, launches_of

from tirx.dialects.formula import Call
from tirx.runtime import describe
from tirx.runtime.launch import (
    Launch,
    PointerArgument,
    Precondition,
    ScalarArgument,
    TensorMapArgument,
    Variant,
    read_launches,
    write_launches,
)

_ENTRY = """
ptx.entry @k(p : u64 ptr align 4, q : u64 ptr align 4, r : u64 ptr align 4) target("sm_90a") reqntid(32) {{
  %p = ptx.ld.param @p : i64
  %q = ptx.ld.param @q : i64
  %r = ptx.ld.param @r : i64
  %f = ptx.constant 0.0 : f32
  %c = ptx.constant false
  {body}
}}
"""


@together(
    ("body", "accesses"),
    [
        ("ptx.ret", "none none none"),
        ("%s = ptx.add %p, %q : i64\n ptx.ret", "none none none"),
        ("%s = ptx.add %p, %q : i64\n ptx.st global %s, %f : i64, f32\n ptx.ret", "write write none"),
        ("%s = ptx.add %p, %p : i64\n %x = ptx.ld global %s : i64 -> f32\n ptx.ret", "read none none"),
        # What is loaded is the address of something else.
        ("%s = ptx.ld global %p : i64 -> i64\n ptx.st global %s, %f : i64, f32\n ptx.ret", "read none none"),
        # What is stored is no address.
        ("ptx.st global %q, %p : i64, i64\n ptx.ret", "read write none"),
        ("ptx.bra ^a(%q, %r : i64, i64)\n^a(%x : i64, %y : i64):\n ptx.st global %x, %f : i64, f32\n ptx.ret",
         "none write none"),
        ("ptx.bra ^a(%q, %r : i64, i64)\n^a(%x : i64, %y : i64):\n ptx.st global %y, %f : i64, f32\n ptx.ret",
         "none none write"),
        *(
            ("ptx.cond_bra %c, ^a(%p, %q : i64, i64), ^b(%r : i64)\n"
             "^a(%x : i64, %y : i64):\n " + (store if name != "%z" else "") + "ptx.ret\n"
             "^b(%z : i64):\n " + (store if name == "%z" else "") + "ptx.ret", expected)
            for name, expected in (
                ("%x", "write none none"), ("%y", "none write none"), ("%z", "none none write")
            )
            for store in (f"ptx.st global {name}, %f : i64, f32\n ",)
        ),
    ],
)  # fmt: skip
def test_accesses(body: str, accesses: str):
    (launch,) = launches_of(_ENTRY.format(body=body))
    assert launch.arguments == tuple(
        PointerArgument(name, None, None, None, 4, access)  # pyright: ignore[reportArgumentType]
        for name, access in zip("pqr", accesses.split(), strict=True)
    )


@pytest.mark.parametrize(
    ("clauses", "grid", "block", "cluster", "shared"),
    [
        ("", None, None, (1, 1, 1), 0),
        ("grid(3, 5) reqntid(32, 3) cluster(1, 5)", (3, 5, 1), (32, 3, 1), (1, 5, 1), 0),
        ("grid(3, 5, 7) reqntid(32, 3, 2) cluster(3, 5, 7)", (3, 5, 7), (32, 3, 2), (3, 5, 7), 0),
    ],
)
def test_extents(clauses: str, grid: object, block: object, cluster: object, shared: int):
    (launch,) = launches_of(f'ptx.entry @k(n : f32) target("sm_90a") {clauses} {{\n ptx.ret\n}}')
    expected = Launch("k", "sm_90a", grid, block, cluster, shared, (ScalarArgument("n", "f32"),))  # pyright: ignore
    assert launch == expected


def test_shapes():
    (launch,) = launches_of(
        'ptx.entry @k(a : u64 ptr from memref<0x?x7xi16, strided<[?, 9, 1]>>) target("sm_90a") {\n ptx.ret\n}'
    )
    assert launch.arguments == (PointerArgument("a", "b16", (0, None, 7), (None, 9, 1), 1, "none"),)


def test_the_text_of_descriptors():
    """A line for each number, string, list of numbers and argument."""
    text = write_launches([LAUNCH])
    assert text == (
        '{\n  "format": 1,\n  "kernels": [\n    {\n      "entry": "copy",\n      "target": "sm_90a",\n'
        '      "grid": [["ceildiv", ["size", 0, 0], 8], ["sm_count"], 1],\n      "block": [64, 1, 1],\n'
        '      "cluster": [2, 1, 1],\n      "dynamic_shared": 0,\n      "arguments": [\n'
        '        {"kind": "pointer", "name": "a", "element": "f16", "shape": [null, 8], "strides": [8, 1], '
        '"alignment": 16, "access": "read"},\n'
        '        {"kind": "pointer", "name": "b", "element": "f32", "shape": [4, 8], "strides": [16, 1], '
        '"alignment": 16, "access": "write"},\n'
        '        {"kind": "scalar", "name": "n", "type": "s32"},\n'
        '        {"kind": "computed", "name": "m", "type": "u64", "value": ["size", 0, 0]},\n'
        '        {"kind": "pointer", "name": "p", "element": null, "shape": null, "strides": null, "alignment": 4, '
        '"access": "read_write"},\n'
        '        {"kind": "pointer", "name": "q", "element": null, "shape": null, "strides": null, "alignment": 1, '
        '"access": "none"}\n      ],\n      "preconditions": [],\n      "schedule": {\n'
        '        "roles": [],\n        "rings": []\n      }\n    }\n  ]\n}\n'
    )
    assert read_launches(text) == (LAUNCH,)
    assert write_launches([]) == '{\n  "format": 1,\n  "kernels": []\n}\n'


@together("text", ["[]", '{"format": 2}', '{"kernels": []}', "1"])
def test_texts_that_are_no_descriptors(text: str):
    with pytest.raises(ValueError, match="^expected launch descriptors of format 1$"):
        read_launches(text)


def test_steps_of_tensor_maps_are_written_where_there_are_some():
    for steps in ((), (2, 1)):
        tensor_map = TensorMapArgument("map", 0, "f16", (8, 8), (16,), (8, 8), steps=steps)
        launch = replace(LAUNCH, arguments=(*LAUNCH.arguments, tensor_map))
        assert ("steps" in launch.to_json()["arguments"][-1]) is bool(steps)
        assert read_launches(write_launches([launch])) == (launch,)


@together(
    ("a", "b", "implies"),
    [
        (("at_most", 4), ("at_most", 4), True),
        (("at_most", 4), ("at_most", 5), True),
        (("at_most", 5), ("at_most", 4), False),
        (("at_most", Call("size", (0, 0))), ("at_most", 4), False),
        (("at_most", 4), ("at_most", Call("size", (0, 0))), False),
        (("at_most", Call("size", (0, 0))), ("at_most", Call("size", (0, 0))), True),
        (("multiple_of", 4), ("multiple_of", 8), False),
        (("multiple_of", 4), ("multiple_of", 4), True),
        (("at_most", 4), ("multiple_of", 4), False),
    ],
)
def test_requirements_that_others_imply(a: Any, b: Any, implies: bool):
    value = Call("stride", (0, 0))
    first, second = (Precondition(value, test, bound, "") for test, bound in (a, b))
    assert describe._implies(first, second) is implies  # pyright: ignore[reportPrivateUsage]
    other = replace(second, value=Call("stride", (0, 1)))
    assert not describe._implies(first, other)  # pyright: ignore[reportPrivateUsage]


def test_defaults_of_descriptors():
    data = LAUNCH.to_json()
    del data["schedule"]
    assert Launch.from_json(data) == LAUNCH
    data["variants"] = [{"entry": "other", "conditions": []}]
    assert Launch.from_json(data).variants == (Variant("other", (), 0),)
    for key in ("grid", "block", "cluster"):
        for extents in ([1, 2], [1, 2, 3, 4]):
            with pytest.raises(ValueError) as found:
                Launch.from_json(LAUNCH.to_json() | {key: extents})
            assert str(found.value) == f"expected three extents, found {extents}"
