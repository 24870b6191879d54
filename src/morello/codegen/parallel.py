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

    def definition(self, workspace: Sequence[str], before: Sequence[str]) -> list[str]:
        """The struct of what it captures, and the function that runs a range of its items.

        The lines of its workspace are its first ones; the others come `before` it.
        """
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
            *before,
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


RUN_PARALLEL = f"""\
{PARALLEL}
static void run_parallel(parallel_t run, void *pool, void (*items)(void *, long, long),
                         void *environment, long count) {{
  if (run)
    run(pool, items, environment, count);
  else
    items(environment, 0, count);
}}
"""
"""The function that runs the items of a region: on the caller's thread if there is no pool."""


def with_default_pool(name: str, signature: str, arguments: Sequence[str]) -> list[str]:
    """The function of a kernel without a pool of its own call: it takes the one that is set.

    The kernel is the function `{name}_on`.
    """
    return [
        "static parallel_t parallel;",
        "static void *parallel_pool;",
        "",
        f"void {name}_set_parallel(parallel_t run, void *pool) {{",
        "  parallel_pool = pool;",
        "  parallel = run;",
        "}",
        "",
        f"{signature} {{",
        f"  {name}_on({', '.join([*arguments, 'parallel', 'parallel_pool'])});",
        "}",
        "",
    ]
