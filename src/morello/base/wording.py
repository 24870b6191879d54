"""Numbers in sentences."""


def counted(count: int, noun: str) -> str:
    """A count with its noun: 1 kernel, 2 kernels."""
    return f"{count:,} {noun}{'s' * (count != 1)}"
