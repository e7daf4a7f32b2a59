"""Records operations as a graph (`record`), computes its values (`run`) and differentiates it (`derive`).

Nothing here imports `jaxvjp.tensor`. It works on the nodes of a graph; each node names an op of `jaxvjp.ops`, such as
`mul`, and knows the tensor that holds it as a `graph.Holder`. docs/architecture.md says in which order to read it.
"""
