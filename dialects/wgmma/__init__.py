"""The `wgmma` dialect: Hopper's warpgroup products, one operation for one instruction of PTX.

Before `convert-wgmma-to-ptx` accumulators are register tiles, pending from the product that writes them to the wait,
and descriptors still say what they describe; behind it both are registers, and the operations are printed as PTX.
Fences, commits and waits are explicit. PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions".
"""

from xdsl.ir import Attribute, Dialect, Operation

from tirx.dialects.definition import defined
from tirx.dialects.wgmma.descriptors import *
from tirx.dialects.wgmma.products import *
from tirx.dialects.wgmma.synchronization import *

WGMMA = Dialect("wgmma", defined(globals(), "wgmma", Operation), defined(globals(), "wgmma", Attribute))
