"""Each operation becomes a `Node` (`graph`); `record.record` makes it.

A node depends on more than its op and inputs: on the `modes` of the thread (`no_grad`), on the user's line that it was
recorded for (`user_lines`), and on the number of writes, until then, to the memory that it shows (`versions`). `saves`
says what of it a backward step needs, `lifetime` when it lets go of its inputs.
"""
