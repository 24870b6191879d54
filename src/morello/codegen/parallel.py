"""Parallel regions: C functions whose items any pool of threads can run in pieces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

PARALLEL = """\
typedef void (*parallel_t)(void *pool, void (*body)(void *environment, long begin, long end),
                           void *environment, long count);"""


@dataclass(frozen=True)
class Region:
    """The C of one part of an item, and the pointers and variables that it uses from around it.

    `pointers` have the C types that they point to; `workspace` is in bytes. An item has so many
    `parts`, the last one `last_parts`. With a `counter`, what is in the workspace is kept for
    later parts, and all parts of all runs have numbers of their own, which it counts.
    """

    name: str
    pointers: Mapping[str, str]
    variables: tuple[str, ...]
    body: tuple[str, ...]
    workspace: int
    items: int
    parts: int
    last_parts: int
    counter: str

    @property
    def names(self) -> tuple[str, ...]:
        """The names that the region defines at file scope."""
        return (self.name, self.counter) if self.counter else (self.name,)

    @property
    def environment(self) -> str:
        """The definition of a variable that has what it captures."""
        taken = [*self.pointers, *self.variables]
        if self.counter:
            taken.append(f"__atomic_fetch_add(&{self.counter}, {self.all_parts}, __ATOMIC_RELAXED)")
        return f"struct {self.name} environment = {{{', '.join(taken)}}};"

    @property
    def all_parts(self) -> int:
        """How many parts all items have."""
        return (self.items - 1) * self.parts + self.last_parts

    def first_part(self, item: str) -> str:
        """The number of the first part of an item, in C; that of all parts after the last item."""
        if self.parts == self.last_parts:
            return f"{item} * {self.parts}" if self.parts > 1 else item
        return f"({item} == {self.items} ? {self.all_parts} : {item} * {self.parts})"

    def definition(self, workspace: Sequence[str], before: Sequence[str]) -> list[str]:
        """The struct of what it captures, and the function that runs a range of its parts.

        The lines of its workspace are its first ones; the others come `before` it.
        """
        fields = [f"  {c} *{name};" for name, c in self.pointers.items()]
        fields += [f"  long {name};" for name in self.variables]
        unpacked = [
            f"  {c} *const restrict {name} = taken->{name};" for name, c in self.pointers.items()
        ]
        unpacked += [f"  const long {name} = taken->{name};" for name in self.variables]
        if self.counter:
            fields.append("  unsigned long run;")
            before = [f"static unsigned long {self.counter} = 1;", *before]
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
            *self._head(),
            *("    " + line for line in self.body),
            "  }",
            "}",
            "",
        ]

    def _head(self) -> list[str]:
        """The head of the loop over parts, of which each has a number in its item."""
        if self.parts == self.last_parts == 1:
            return ["  for (long item = begin; item < end; ++item) {"]
        item = f"work / {self.parts}"
        if self.last_parts > self.parts:
            item = f"work < {self.items * self.parts} ? {item} : {self.items - 1}"
        return [
            "  for (long work = begin; work < end; ++work) {",
            f"    const long item = {item};",
            f"    const long part = work - item * {self.parts};",
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
