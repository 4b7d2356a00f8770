"""Every instruction that the ISA has: `data/instructions.txt`."""

from __future__ import annotations

from collections.abc import Iterator

from unit.sim.kernels import DATA

_DECLARATIONS = """.reg .pred %p<8>; .reg .b8 %b<8>; .reg .b16 %h<16>; .reg .b32 %r<32>; .reg .b64 %d<16>;
  .reg .f32 %f<16>; .reg .f64 %g<8>; .reg .b128 %q<8>; .shared .align 1024 .b8 s[1024]; .shared .align 8 .b64 bar;"""


def _forms() -> Iterator[tuple[str, str, bool]]:
    """Target, instruction, and whether the simulator refuses it."""
    target, operands, refused = "", "", False
    for line in (DATA / "instructions.txt").read_text().splitlines():
        if line.startswith("  "):
            for opcode in line.split():
                yield target, f"{opcode} {operands}".strip(), refused
        elif line and not line.startswith("#"):
            refused = line.startswith("refused ")
            target, _, operands = line.removeprefix("refused ").partition(" ")


FORMS = list(_forms())


def module(target: str, instructions: list[str]) -> str:
    """A module with a kernel `k0`, `k1`, ... for each instruction."""
    text = f".version {'9.5' if 'sm_107' in target else '9.3'}\n.target {target}\n.address_size 64\n"
    for index, instruction in enumerate(instructions):
        body = instruction + ";"
        if "TABLE" in body:
            body = f"L0: TABLE: .branchtargets L0, L1; {body} L1:"
        if "PROTOTYPE" in body:
            body = f"PROTOTYPE: .callprototype (.param .b32 _) _ (.param .b32 _); {body}"
        text += f".visible .entry k{index}() {{ {_DECLARATIONS}\n  {body} ret; }}\n"
    return text
