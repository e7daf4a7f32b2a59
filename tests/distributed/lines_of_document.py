"""Runs the blocks of a document, and prints as JSON what each line of the tables after them gives."""

import json
import re
import sys
from pathlib import Path

page = Path(sys.argv[1]).read_text(encoding="utf-8")
space, found = {}, []
for part in re.split(r"```python\n", page)[1:]:
    exec(part.partition("```")[0], space)
    for line, gives in re.findall(r"^\| `(.+)` \| `(.+)` \|$", part, re.MULTILINE):
        try:
            given = str(eval(line, space))
        except Exception as error:
            given = f"{type(error).__name__}: {error}"
        found.append((line, gives, given))
print(json.dumps(found))
