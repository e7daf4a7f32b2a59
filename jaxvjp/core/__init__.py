"""The machine: graph, program, evaluation, pullback, engine; read them in that order."""
