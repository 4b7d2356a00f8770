"""The timing model: the time of a product of matrices on a GPU, from its tiles alone.

`Work` says what a kernel does and how: the compiler takes it from a kernel (`tirx-opt --predict`) or from a candidate
that it has not compiled. `predict` returns seconds and what bounds them. A GPU is a row of `GPUS`. Nothing here needs a
GPU, numpy or the IR.
"""

from tirx.predict.gpus import GPUS, Gpu, gpu_of
from tirx.predict.model import Prediction, predict
from tirx.predict.work import Counts, Work

__all__ = ["GPUS", "Counts", "Gpu", "Prediction", "Work", "gpu_of", "predict"]
