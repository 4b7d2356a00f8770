"""Parameters of entries, in registers of every type that has their bits."""

from itertools import product

from unit.sim.assembled import assembled

import tirx

_REGISTERS = {32: ("i32", "f32"), 64: ("i64", "f64")}


def test_loads_are_of_the_type_of_the_register():
    forms = [
        (f"{kind}{bits}", register)
        for bits, registers in _REGISTERS.items()
        for kind, register in (*product("us", registers), ("f", f"f{bits}"))
    ]
    names = ", ".join(f"p{i} : {declared}" for i, (declared, _) in enumerate(forms))
    lines = "\n".join(
        f"%{i} = ptx.ld.param @p{i} : {register} ptx.st shared %s, %{i} : i32, {register}"
        for i, (_, register) in enumerate(forms)
    )
    alloc = "%s = ptx.shared_alloc @s bytes 8 align 8"
    ptx = tirx.compile(f'ptx.entry @k({names}) target("sm_90") {{\n{alloc}\n{lines}\nptx.ret\n}}')
    assembled(ptx)
    loads = [line.split()[0].rpartition(".")[2] for line in ptx.splitlines() if "ld.param" in line]
    assert loads == [register if register.startswith("f") else declared for declared, register in forms]
