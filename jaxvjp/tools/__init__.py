"""The command line's tools: `bench`, `comparison`, `opinfo`, `scripts`, the examples (`lessons`) and `explain`."""
