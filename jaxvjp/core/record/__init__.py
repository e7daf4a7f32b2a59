"""An operation becomes a `Node` of a graph: `record` makes them, `graph` holds them.

What a node remembers beside its op and inputs is here too: the `modes` it was recorded under, the user's line
(`user_lines`), and how often its storage had been written (`versions`).
"""
