"""`Tensor`, and how a call in torch's words becomes an operation of `core`.

`storage` says what a tensor holds, `tensor` is the class, `apply` applies a row of `ops` to tensors, and `bindings`
makes torch's function, method and operator of each row.
"""
