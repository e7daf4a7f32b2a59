"""Records operations as a graph (`record`), computes its values (`run`) and differentiates it (`derive`).

Nothing here knows of tensors. It works on the nodes of a graph; each node names an op of `jaxvjp.ops`, such as `mul`.
"""
