"""PyTorch's own test files run with jaxvjp in torch's place: the command `python -m tools.conformance`."""
