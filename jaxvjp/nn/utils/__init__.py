"""torch's `nn.utils`."""
