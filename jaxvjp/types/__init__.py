"""dtypes, devices, shapes, and the handles of hooks."""
