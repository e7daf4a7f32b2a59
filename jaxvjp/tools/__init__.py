"""The tools of the command line: `bench`, `comparison`, `opinfo`, `scripts`, the examples (`lessons`), `explain`."""
