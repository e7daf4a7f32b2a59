"""torch's `signal`, which is its windows. `signal.windows` comes before this room."""

from jaxvjp.signal import windows as windows
