"""The discrete Fourier transform of rows of 64 complex numbers: four products with cosines and sines."""

import math

import tirx as tx
from tirx import Array, f32, tf32


@tx.jit(threads=128)
def dft(re: Array, im: Array, re_out: Array, im_out: Array) -> None:
    m = tx.grid((re.shape[0], 64))
    angle = (tx.indices(0, 64, 64) * tx.indices(1, 64, 64) % 64).to(f32) * (math.pi / 32)
    c, s, less = (tx.shared(each.to(tf32)) for each in (tx.cos(angle), tx.sin(angle), -tx.sin(angle)))
    a, b = (tx.shared(each[m, :].to(tf32)) for each in (re, im))
    re_out[m, :] = a @ c.T + b @ s.T
    im_out[m, :] = b @ c.T + a @ less.T
