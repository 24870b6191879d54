"""Keep the results of searches in a table: the next search needs only what is new."""

from pathlib import Path
from tempfile import TemporaryDirectory

import morello

with TemporaryDirectory() as folder, morello.Table(Path(folder, "specs.db")) as table:
    for expression in (
        "f32[128,128] @ f32[128,128]",
        "f32[128,128] @ f32[128,64]",  # shares Specs with the first
        "f32[128,128] @ f32[128,128]",  # is known
    ):
        _, statistics = morello.implement(expression, table=table)
        assert statistics is not None
        print(f"{expression}: searched {statistics.specs:,} Specs in {statistics.seconds:.2f} s")
    print(f"the table has {table.bytes():,} bytes")
