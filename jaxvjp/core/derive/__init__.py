"""Derivatives: `pullback` is `jax.vjp` of a program, `transforms` has its `jax.jvp` and `jax.vmap`, and `engine` is the
backward pass, which goes through a graph from pullback to pullback.

`remembered_walks` keeps what backward passes ran or recorded, for graphs of the same structure.
"""
