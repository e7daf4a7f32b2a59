"""torch's `signal`, which is its windows."""

from jaxvjp.signal import windows as windows
