"""Computes the values of nodes: freezes the part of the graph that is needed, compiles it and calls it.

Others call `evaluation.evaluate`. `pieces` cuts a long graph, `program` freezes a piece as a pure function of its
leaves, and `plan` says in which order these are called. `compilation` makes each callable: on a CPU it runs in NumPy
(`tiers`, `interpreter`) until it pays to compile it with `jax.jit`.
"""
