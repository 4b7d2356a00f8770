"""placeholder"""

from tirx.sim.hazards.monitor import Monitor


class Checker(Monitor):
    def __init__(self, ctas: int, lanes: int, shared_end: int):
        pass
