"""What tensors are described by: dtypes, devices, shapes; and the handles of hooks."""
