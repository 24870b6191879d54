"""Parallel regions: C functions whose items any pool of threads can run in pieces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

PARALLEL = """\
typedef void (*parallel_t)(void *pool, void (*body)(void *environment, long begin, long end),
                           void *environment, long count);"""


@dataclass(frozen=True)
class Region:
    """The C of one item, and the pointers and variables that it uses from around it.

    `pointers` have the C types that they point to; `workspace` is in bytes.
    """

    name: str
    pointers: Mapping[str, str]
    variables: tuple[str, ...]
    body: tuple[str, ...]
    workspace: int

    def definition(self, workspace: Sequence[str]) -> list[str]:
        """The struct of what it captures, and the function that runs a range of its items."""
        fields = [f"  {c} *{name};" for name, c in self.pointers.items()]
        fields += [f"  long {name};" for name in self.variables]
        unpacked = [
            f"  {c} *const restrict {name} = taken->{name};" for name, c in self.pointers.items()
        ]
        unpacked += [f"  const long {name} = taken->{name};" for name in self.variables]
        return [
            f"struct {self.name} {{",
            *fields,
            "};",
            "",
            f"static void {self.name}(void *environment, long begin, long end) {{",
            f"  const struct {self.name} *const taken = environment;",
            *unpacked,
            *workspace,
            "  for (long item = begin; item < end; ++item) {",
            *("    " + line for line in self.body),
            "  }",
            "}",
            "",
        ]


def dispatcher(name: str) -> list[str]:
    """The function that runs the items of a region, and the one that gives it a thread pool."""
    return [
        PARALLEL,
        "static parallel_t parallel;",
        "static void *parallel_pool;",
        "",
        f"void {name}_set_parallel(parallel_t run, void *pool) {{",
        "  parallel_pool = pool;",
        "  parallel = run;",
        "}",
        "",
        "static void run_parallel(void (*items)(void *, long, long), void *environment, "
        "long count) {",
        "  if (parallel)",
        "    parallel(parallel_pool, items, environment, count);",
        "  else",
        "    items(environment, 0, count);",
        "}",
        "",
    ]
