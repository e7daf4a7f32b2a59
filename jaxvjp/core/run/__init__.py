"""The values of nodes are computed: the part of the graph that is needed is frozen, compiled and called.

`program` freezes a graph into a function of its leaves, `compilation` compiles that by `jax.jit`, `plan` cuts long
graphs into pieces that repeat, and `evaluation` is where others ask for values.
"""
