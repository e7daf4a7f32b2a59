"""torch's own database of sample inputs, OpInfo, as the judge of our ops: `check` runs it, `report` says how it went.

It needs torch and what torch's test support needs (`pip install 'jaxvjp[test]'`); nothing else in jaxvjp imports it.
"""
