"""The `tcgen05` dialect: Blackwell's tensor cores and tensor memory, one operation for one instruction of PTX.

Before `convert-tcgen05-to-ptx` operations carry tiles with layouts, and descriptors that still say what they describe;
behind it addresses and registers, and they are printed as PTX. Allocation, commits, waits and fences are explicit. PTX
ISA, "TensorCore 5th Generation Family Instructions".
"""

from xdsl.ir import Attribute, Dialect, Operation

from tirx.dialects.definition import defined
from tirx.dialects.tcgen05.allocation import *
from tirx.dialects.tcgen05.attributes import *
from tirx.dialects.tcgen05.common import *
from tirx.dialects.tcgen05.descriptors import *
from tirx.dialects.tcgen05.facts import *
from tirx.dialects.tcgen05.movement import *
from tirx.dialects.tcgen05.products import *
from tirx.dialects.tcgen05.synchronization import *

TCGEN05 = Dialect("tcgen05", defined(globals(), "tcgen05", Operation), defined(globals(), "tcgen05", Attribute))
