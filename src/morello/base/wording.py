"""Numbers in sentences."""


def counted(count: int, noun: str) -> str:
    """So many of something: 1 kernel, 2 kernels."""
    return f"{count:,} {noun}{'s' * (count != 1)}"
