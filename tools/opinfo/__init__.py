"""Tests our ops on torch's own database of sample inputs, OpInfo: `check` runs an op, `report` sums up.

It needs torch and what torch's test support needs (`pip install 'jaxvjp[test]'`); nothing else in jaxvjp imports it.
"""
