"""The machine, in reading order: places, modes, graph, program, evaluation, promotion, pullback, engine, transforms."""
