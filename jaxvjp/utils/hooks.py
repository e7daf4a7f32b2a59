"""torch's `utils.hooks`, as far as scripts name it: the handle that registering a hook returns."""

from jaxvjp.types.hooks import RemovableHandle

__all__ = ["RemovableHandle"]
