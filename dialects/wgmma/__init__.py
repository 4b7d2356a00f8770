"""
The `wgmma` dialect: Hopper's warpgroup products, one step above PTX.

Accumulators are values: register tiles, pending from the product that writes them to the wait. Descriptors still say
what they describe. Fences, commits and waits are explicit. PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions".
"""

from xdsl.ir import Attribute, Dialect, Operation

from tirx.dialects.definition import defined
from tirx.dialects.wgmma.descriptors import *
from tirx.dialects.wgmma.products import *
from tirx.dialects.wgmma.synchronization import *

WGMMA = Dialect("wgmma", defined(globals(), "wgmma", Operation), defined(globals(), "wgmma", Attribute))
