"""Identifiers for generated C: which ones are reserved, and which ones are free."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count, product

from morello.base.errors import BuildError, quoted
from morello.codegen.statements import (
    Call,
    Definition,
    For,
    Groups,
    ParallelFor,
    Runs,
    Shared,
    Statement,
    bodies,
)
from morello.native.toolchain import FLAGGED

MAX_LENGTH = 200

_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_]*", re.ASCII)

_C = """
    alignas alignof auto bool break case char const constexpr continue default do double else enum
    extern false float for goto if inline int long nullptr register restrict return short signed
    sizeof static static_assert struct switch thread_local true typedef typeof typeof_unqual union
    unsigned void volatile while
"""
_CPP = """
    and and_eq asm bitand bitor catch char8_t char16_t char32_t class co_await co_return co_yield
    compl concept consteval const_cast constinit decltype delete dynamic_cast explicit export friend
    mutable namespace new noexcept not not_eq operator or or_eq private protected public
    reinterpret_cast requires static_cast template this throw try typeid typename using virtual
    wchar_t xor xor_eq
"""
_PREDEFINED = "arm hpux i386 linux mips ppc sparc sun unix vax"
"""Macros that compilers define as 1 unless they are told to be strict."""

_MACROS = """
    BIG_ENDIAN BYTE_ORDER EXIT_FAILURE EXIT_SUCCESS FD_CLR FD_ISSET FD_SET FD_SETSIZE FD_ZERO
    LITTLE_ENDIAN MB_CUR_MAX NFDBITS NULL PDP_ENDIAN PTRDIFF_MAX PTRDIFF_MIN RAND_MAX SIG_ATOMIC_MAX
    SIG_ATOMIC_MIN SIZE_MAX WCHAR_MAX WCHAR_MIN WCONTINUED WEXITED WEXITSTATUS WIFCONTINUED
    WIFEXITED WIFSIGNALED WIFSTOPPED WINT_MAX WINT_MIN WNOHANG WNOWAIT WSTOPPED WSTOPSIG WTERMSIG
    WUNTRACED alloca be16toh be32toh be64toh errno htobe16 htobe32 htobe64 htole16 htole32 htole64
    le16toh le32toh le64toh offsetof
"""
_WIDTHS = (*map("".join, product(("", "_LEAST", "_FAST"), ("8", "16", "32", "64"))), "MAX", "PTR")
_LIMITS = {
    f"{sign}INT{width}_{end}"
    for sign, width, end in product(("", "U"), _WIDTHS, ("MAX", "MIN", "C", "WIDTH"))
}
_TYPES = {
    f"{sign}int{width.lower()}_t" for sign, width in product(("", "u"), _WIDTHS)
} | {"max_align_t", "ptrdiff_t", "size_t", "ssize_t"}  # fmt: skip

RESERVED = frozenset(f"{_C} {_CPP} {_PREDEFINED} {_MACROS}".split()) | _LIMITS | _TYPES
"""Keywords, macros and types of C, C++, the compilers, and the headers that kernels include."""

_STDLIB = """
    a64l abort abs aligned_alloc arc4random at_quick_exit atexit atof atoi atol atoll bcmp bcopy
    bsearch bzero calloc clearenv div drand48 ecvt erand48 exit fcvt free gcvt getenv getloadavg
    getsubopt grantpt initstate jrand48 l64a labs lcong48 ldiv llabs lldiv lrand48 main malloc
    mblen mbstowcs mbtowc memccpy memchr memcmp memcpy memmove mempcpy memset mkdtemp mkstemp mktemp
    mrand48 nrand48 on_exit posix_memalign printf pselect ptsname putenv puts qsort quick_exit
    rand rand_r random realloc reallocarray realpath rpmatch secure_getenv seed48 select setenv
    setstate srand srand48 srandom strchr strcmp strcpy strlen strtod strtof strtol strtold strtoll
    strtoul strtoull system unlockpt unsetenv valloc wcstombs wctomb
"""
_MATH = """
    acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp10 exp2 expm1
    fabs fdim floor fma fmax fmin fmod frexp hypot ilogb ldexp lgamma llrint llround log log10 log1p
    log2 logb lrint lround modf nan nearbyint nextafter pow remainder rint round scalbn sin sinh
    sqrt tan tanh tgamma trunc
"""
_LIBRARY = frozenset(_STDLIB.split()) | {
    f"{name}{f}" for name in _MATH.split() for f in ("", "f", "l")
}
"""Functions that those headers declare, or that compilers know as builtins."""

_FILE = """
    MORELLO_PARALLEL MORELLO_RESTRICT group_t parallel parallel_pool parallel_t run_parallel
"""
_LOCAL = """
    begin body count end environment item items line more part piece pool run taken work workspace
"""
FILE_SCOPE = frozenset((*_FILE.split(), FLAGGED))
"""Identifiers at file scope that generated files and headers define for themselves, or flags."""

OWN = FILE_SCOPE | frozenset(_LOCAL.split())
"""`FILE_SCOPE`, and the parameters and local variables that have fixed names."""

_LONGEST = 40
"""Characters of an input's name that are kept: C compares only the first 63 of an identifier."""


def check_function_name(name: str, helpers: Collection[str] = ()) -> None:
    """Raise `BuildError` unless the function of a kernel can have this name, in C and in C++.

    `helpers` are the other functions that the file may define.
    """
    if not isinstance(name, str) or not _IDENTIFIER.fullmatch(name) or len(name) > MAX_LENGTH:
        why = f"is no C identifier of at most {MAX_LENGTH} letters"
    elif name in RESERVED or name in _LIBRARY:
        why = "means something else in C or C++"
    elif name in helpers or name in FILE_SCOPE:
        why = "is something else in the generated code"
    else:
        return
    raise BuildError(
        f"the C function cannot be called {quoted(name)}, which {why}; give it another name, of "
        "ASCII letters, digits and underscores, that starts with a letter, such as my_kernel."
    )


class Names:
    """The identifiers of one generated file. None is given out twice while it is in use.

    `taken` are identifiers that the file uses besides.
    """

    def __init__(self, taken: Iterable[str]) -> None:
        self._lasting = {*RESERVED, *OWN, *taken}
        self._scoped: set[str] = set()

    @contextmanager
    def scope(self) -> Iterator[None]:
        """A scope: names that `fresh` gives out within it are free again after it."""
        before = set(self._scoped)
        yield
        self._scoped = before

    def parameter(self, wanted: str) -> str:
        """An operand's parameter name: the user's name, with underscores if that is taken."""
        name = _plain(wanted)
        while name in self._lasting:
            name += "_"
        self._lasting.add(name)
        return name

    def lasting(self, stem: str) -> str:
        """A name for the whole file: the stem with the first number that is not taken."""
        name = self._numbered(stem)
        self._lasting.add(name)
        return name

    def fresh(self, stem: str) -> str:
        """A name until the innermost scope ends: the stem with the first number that is free."""
        name = self._numbered(stem)
        self._scoped.add(name)
        return name

    def _numbered(self, stem: str) -> str:
        candidates = (f"{_plain(stem)}{number}" for number in count())
        return next(n for n in candidates if n not in self._lasting and n not in self._scoped)


class NamesInC(dict[str, str]):
    """The names in C of those that statements define; any other name is as it is in C."""

    def __missing__(self, name: str) -> str:
        return name


def in_c(statements: Sequence[Statement], names: Names) -> NamesInC:
    """Give every name that statements define one that is free in C where it is known."""
    called = NamesInC()

    def visit(statements: Sequence[Statement]) -> None:
        for statement in statements:
            if isinstance(statement, Call):
                continue
            define(statement, called, names)
            with names.scope():
                if isinstance(statement, For):
                    called[statement.variable] = names.fresh(stem(statement.variable))
                elif isinstance(statement, Runs):
                    called.update((each, names.fresh(stem(each))) for each in statement.names)
                for body in bodies(statement):
                    visit(body)

    visit(statements)
    return called


def define(statement: Statement, called: NamesInC, names: Names) -> None:
    """Give a name in C to what a statement defines for later ones, if anything."""
    if isinstance(statement, Groups):
        called[statement.name] = names.fresh(f"{called[statement.tile.pointer]}_groups")
    elif isinstance(statement, Definition | Shared):
        called[statement.name] = names.fresh(stem(statement.name))
    elif isinstance(statement, ParallelFor):
        if statement.counter:
            called[statement.counter] = names.lasting(stem(statement.counter))
        called[statement.name] = names.lasting(stem(statement.name))


def stem(name: str) -> str:
    """A name of statements without its number."""
    return name.partition(".")[0]


def _plain(name: str) -> str:
    """The name, shortened, and changed if it begins with an underscore, which C reserves."""
    return ("in_" + name.strip("_") if name.startswith("_") else name)[:_LONGEST]
