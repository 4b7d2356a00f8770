"""Passes about kernels as a whole: target, parameters, roles, and the last step to PTX instructions."""
