"""The `tirx` dialect: tiles in the memories of a GPU, the layouts that place them and what a kernel does on them.

Tile operations have sequential semantics: each is complete before the next begins. The passes that lower them own
all synchronisation.
"""

from xdsl.ir import Attribute, Dialect, Operation

from tirx.dialects.definition import defined
from tirx.dialects.tirx.atomics import *
from tirx.dialects.tirx.attributes import *
from tirx.dialects.tirx.bulk import *
from tirx.dialects.tirx.clusters import *
from tirx.dialects.tirx.debugging import *
from tirx.dialects.tirx.engines import *
from tirx.dialects.tirx.folds import *
from tirx.dialects.tirx.interface import *
from tirx.dialects.tirx.kernel import *
from tirx.dialects.tirx.loops import *
from tirx.dialects.tirx.maps import *
from tirx.dialects.tirx.memory_plan import *
from tirx.dialects.tirx.ops import *
from tirx.dialects.tirx.parts import *
from tirx.dialects.tirx.places import *
from tirx.dialects.tirx.product import *
from tirx.dialects.tirx.queues import *
from tirx.dialects.tirx.registers import *
from tirx.dialects.tirx.ring_types import *
from tirx.dialects.tirx.rings import *
from tirx.dialects.tirx.roles import *
from tirx.dialects.tirx.sizes import *
from tirx.dialects.tirx.slots import *
from tirx.dialects.tirx.tensor_maps import *
from tirx.dialects.tirx.thread_sets import *
from tirx.dialects.tirx.threads import *
from tirx.dialects.tirx.tile_loop import *
from tirx.dialects.tirx.transfers import *
from tirx.dialects.tirx.views import *

TIRX = Dialect("tirx", defined(globals(), "tirx", Operation), defined(globals(), "tirx", Attribute))
