"""Kernels as other programs call them: binary interfaces (ABIs) in C without their headers."""

from morello.abi.hosts import ABIS as ABIS
from morello.abi.hosts import abi_names as abi_names
from morello.abi.hosts import check_hosts as check_hosts
from morello.abi.hosts import for_hosts as for_hosts
from morello.abi.hosts import function_for_hosts as function_for_hosts
