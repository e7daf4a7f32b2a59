"""Computes the values of nodes: freezes the part of the graph that is needed, compiles it and calls it.

Others call `evaluation.evaluate`. `plan` cuts a long graph into pieces, `program` freezes a piece as a pure function of
its leaves, and `compilation` compiles that with `jax.jit`.
"""
