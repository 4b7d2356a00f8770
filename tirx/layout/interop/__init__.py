"""Layouts of other projects, both ways: CuTe, Triton, TVM, device meshes."""
