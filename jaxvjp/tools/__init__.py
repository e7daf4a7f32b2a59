"""The command line: `bench`, `comparison`, `conformance`, `opinfo`, `scripts`, the examples (`lessons`), `explain`."""
