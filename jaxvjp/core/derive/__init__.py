"""Gradients: `pullback` is `jax.vjp` of a recorded program, `engine` walks a graph back through its pullbacks.

`remembered_walks` and `remembered_graphs` keep what a walk came to, for graphs of the same structure.
"""
