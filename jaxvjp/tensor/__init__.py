"""`Tensor`, and how a call of torch's API becomes an operation of `core`.

`storage` defines what a tensor holds, `tensor` is the class, `apply` applies a row of `ops` to tensors, and `bindings`
makes torch's function, method and operator from each row.
"""
