"""Pure functions, both ways: a recorded program is a JAX function, and a JAX function is an operation on tensors.

* Arrays: `Tensor.jax()`, and `library.crossing.from_jax`; tensors are nodes of JAX's pytrees.
* A recorded program: `as_function`, `pullback`, `Tensor.jaxpr()`, `Tensor.lowered()`.
* Functions: `wrap` for JAX's inside of torch code, `functional` for torch's inside of JAX code.
* Loops: `scan`, `while_loop`, `cond`.
"""

from __future__ import annotations

from jaxvjp.pure.arrays import Operand, jax_array, numpy_dtype, register
from jaxvjp.pure.loops import cond, scan, while_loop
from jaxvjp.pure.recorded import as_function, jaxpr, lowered, pullback
from jaxvjp.pure.recording import functional
from jaxvjp.pure.wrapping import wrap
from jaxvjp.tensor.docstrings import complete_all
from jaxvjp.tensor.overriding import told_of_classes
from jaxvjp.tensor.tensor import Tensor

__all__ = ["as_function", "cond", "functional", "pullback", "scan", "while_loop", "wrap"]

METHODS = {"jax": jax_array, "jaxpr": jaxpr, "lowered": lowered}
complete_all(globals(), __all__, "function")
complete_all(METHODS, [*METHODS], "method")


def attach_methods() -> None:
    """Gives `Tensor` the methods of this package, and makes it and its subclasses nodes of JAX's pytrees."""
    for name, method in {**METHODS, "__jax_array__": Operand(), "__numpy_dtype__": property(numpy_dtype)}.items():
        setattr(Tensor, name, method)
    kinds: list[type[Tensor]] = [Tensor]
    for kind in kinds:  # `kinds` grows while the loop runs
        register(kind)
        kinds += kind.__subclasses__()
    told_of_classes.append(register)


__dir__ = __all__.copy
