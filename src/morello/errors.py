"""The exceptions that users catch, each a `MorelloError`, and the warnings that they may filter."""

from morello.base.errors import BuildError as BuildError
from morello.base.errors import CallError as CallError
from morello.base.errors import CertificateError as CertificateError
from morello.base.errors import CompileAllError as CompileAllError
from morello.base.errors import CompilerTimeoutError as CompilerTimeoutError
from morello.base.errors import CorpusError as CorpusError
from morello.base.errors import FallbackWarning as FallbackWarning
from morello.base.errors import FileError as FileError
from morello.base.errors import GraphError as GraphError
from morello.base.errors import MorelloError as MorelloError
from morello.base.errors import RewriteError as RewriteError
from morello.base.errors import SearchError as SearchError
from morello.base.errors import SearchWarning as SearchWarning
from morello.base.errors import SeveralKernelsError as SeveralKernelsError
from morello.base.errors import SpecError as SpecError
from morello.base.errors import TableError as TableError
from morello.base.errors import TargetError as TargetError
from morello.base.errors import VerificationError as VerificationError
