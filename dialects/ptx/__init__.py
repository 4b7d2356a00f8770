"""The `ptx` dialect: one op per PTX instruction, over virtual registers.

SSA values are registers: i1 `.pred`, i16/f16/bf16 `.b16`, i32 `.b32`, i64 `.b64`, f32 `.f32`, f64 `.f64`.
The modules hold the instructions by subject, `core` entries and control flow. All that they define is exported here.
"""

from __future__ import annotations

from typing import TypeVar

from xdsl.ir import Attribute, Dialect, Operation

from tirx.dialects.ptx.arith import *
from tirx.dialects.ptx.base import *
from tirx.dialects.ptx.conversion import *
from tirx.dialects.ptx.core import *
from tirx.dialects.ptx.folding import PtxConstants
from tirx.dialects.ptx.matrix import *
from tirx.dialects.ptx.mbarrier import *
from tirx.dialects.ptx.memory import *
from tirx.dialects.ptx.mma import *
from tirx.dialects.ptx.sync import *
from tirx.dialects.ptx.tcgen05 import *
from tirx.dialects.ptx.tcgen05_ld_st import *
from tirx.dialects.ptx.tcgen05_mma import *
from tirx.dialects.ptx.tma import *
from tirx.dialects.ptx.warp import *
from tirx.dialects.ptx.wgmma import *

_Defined = TypeVar("_Defined", Operation, Attribute)


def _defined(kind: type[_Defined]) -> list[type[_Defined]]:
    """The operations or attributes that are exported here and have a name of this dialect."""
    # `issubclass` would ask every subclass of `kind`, an abstract class, about every class that is none.
    classes = [value for value in globals().values() if isinstance(value, type) and kind in value.__mro__]
    return [cls for cls in classes if str(getattr(cls, "name", "")).startswith("ptx.")]


PTX = Dialect("ptx", _defined(Operation), _defined(Attribute), [PtxConstants()])
