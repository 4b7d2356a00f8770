"""The `ptx` dialect: one op per PTX instruction, over virtual registers.

SSA values are registers: i1 `.pred`, i16/f16/bf16 `.b16`, i32 `.b32`, i64 `.b64`, f32 `.f32`, f64 `.f64`.
The modules hold the instructions by subject, `core` entries and control flow. All that they define is exported here.
"""

from xdsl.ir import Attribute, Dialect, Operation

from tirx.dialects.definition import defined
from tirx.dialects.formula import *
from tirx.dialects.formula_attr import *
from tirx.dialects.ptx.arith import *
from tirx.dialects.ptx.atomics import *
from tirx.dialects.ptx.base import *
from tirx.dialects.ptx.binary import *
from tirx.dialects.ptx.compression import *
from tirx.dialects.ptx.conversion import *
from tirx.dialects.ptx.core import *
from tirx.dialects.ptx.cp_async import *
from tirx.dialects.ptx.debugging import *
from tirx.dialects.ptx.folding import PtxConstants
from tirx.dialects.ptx.functions import *
from tirx.dialects.ptx.inline import *
from tirx.dialects.ptx.launch_control import *
from tirx.dialects.ptx.matrix import *
from tirx.dialects.ptx.mbarrier import *
from tirx.dialects.ptx.memory import *
from tirx.dialects.ptx.mma import *
from tirx.dialects.ptx.multimem import *
from tirx.dialects.ptx.packed import *
from tirx.dialects.ptx.parameters import *
from tirx.dialects.ptx.reductions import *
from tirx.dialects.ptx.sync import *
from tirx.dialects.ptx.tma import *
from tirx.dialects.ptx.warp import *

PTX = Dialect("ptx", defined(globals(), "ptx", Operation), defined(globals(), "ptx", Attribute), [PtxConstants()])
