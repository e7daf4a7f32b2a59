"""The machine: operations are recorded (`record`), the program is run (`run`), derivatives are taken of it (`derive`).

Nothing here knows of tensors: it works on nodes of a graph, whose ops are rows of `ops`.
"""
