"""Each operation becomes a `Node` (`graph`); `record.record` makes it.

A node depends on more than its op and inputs: on the `modes` of the thread (`no_grad`), on the user's line that it was
recorded for (`user_lines`), and on how often the memory that it shows had been written (`versions`).
"""
