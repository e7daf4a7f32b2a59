"""The command line: `bench`, `comparison`, `conformance`, `course`, `opinfo`, `scripts`, the `examples`, `explain`."""
