"""Random programs under torch and under jaxvjp, statement by statement: `python -m tools.fuzz`.

`kinds` is the table of statements, `model` what is known of the variables meanwhile, `programs` draws from both.
`running` runs one under a module, `comparing` under both, `exceptions` has the differences that the docs describe.
"""
