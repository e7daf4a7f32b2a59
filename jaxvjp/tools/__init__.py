"""The command line's tools: `bench`, `comparison`, `conformance`, `opinfo`, `scripts`, the examples (`lessons`) and `explain`."""
