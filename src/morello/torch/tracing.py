"""From a graph of torch's compiler, and arguments, to a trace of ATen operations."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import torch
from torch import fx
from torch._decomp import decomposition_table
from torch._ops import OpOverload
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.experimental.symbolic_shapes import ShapeEnv

_APART = (
    "addcdiv", "addcmul", "addr", "affine_grid_generator", "aminmax", "arccos", "arccosh", "arcsin",
    "arcsinh", "arctan", "arctan2", "arctanh", "atleast_1d", "atleast_2d", "atleast_3d",
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "block_diag", "broadcast_tensors",
    "cartesian_prod", "celu", "chain_matmul", "channel_shuffle", "column_stack",
    "cosine_embedding_loss", "count_nonzero", "cross_entropy_loss", "cumulative_trapezoid",
    "deg2rad", "diag", "diag_embed", "diagflat", "diff", "dist", "dsplit", "dstack", "fft_fftshift",
    "fft_ifftshift", "fliplr", "flipud", "float_power", "glu", "gradient", "hardshrink",
    "heaviside", "hinge_embedding_loss", "hsplit", "hstack", "huber_loss", "inner", "isclose",
    "isin", "isneginf", "isposinf", "isreal", "kl_div", "kron", "l1_loss", "linalg_cross",
    "linalg_diagonal", "linalg_matrix_norm", "linalg_matrix_power", "linalg_multi_dot",
    "linalg_vander", "linalg_vecdot", "logaddexp", "logaddexp2", "logit", "logsumexp",
    "margin_ranking_loss", "matrix_power", "meshgrid", "mse_loss", "multi_margin_loss",
    "multilabel_margin_loss", "multilabel_margin_loss_forward", "nanmean", "nanquantile", "nansum",
    "native_group_norm", "native_layer_norm", "nll_loss", "nll_loss2d", "nll_loss2d_forward",
    "nll_loss_forward", "nll_loss_nd", "norm", "pairwise_distance", "pixel_shuffle",
    "pixel_unshuffle", "poisson_nll_loss", "positive", "quantile", "rad2deg", "ravel", "renorm",
    "rot90", "selu", "sgn", "sinc", "smooth_l1_loss", "soft_margin_loss", "softshrink",
    "special_entr", "special_erf", "special_erfc", "special_exp2", "special_expit", "special_expm1",
    "special_log1p", "special_log_softmax", "special_logit", "special_ndtr", "special_sinc",
    "special_softmax", "special_xlog1py", "special_xlogy", "sum_to_size", "take", "take_along_dim",
    "tensordot", "threshold", "tile", "trace", "trapezoid", "trapz", "triplet_margin_loss",
    "unsafe_chunk", "vdot", "vsplit", "vstack", "xlogy",
)  # fmt: skip
"""Operations that torch takes apart into simpler ones, all of which graphs have."""


def _simpler(operation: OpOverload) -> Callable[..., Any] | None:
    """How torch takes an operation apart, if it does."""
    composite = torch._C.DispatchKey.CompositeImplicitAutograd
    simpler: Callable[..., Any] | None = decomposition_table.get(operation)
    return operation.decompose if operation.has_kernel_for_dispatch_key(composite) else simpler


_TABLE = {
    operation: simpler
    for packet in (getattr(torch.ops.aten, name) for name in _APART)
    for operation in (getattr(packet, overload) for overload in packet.overloads())
    if (simpler := _simpler(operation))
}


_RECURRENT = {
    getattr(torch.ops.aten, name).input for name in ("gru", "lstm", "rnn_relu", "rnn_tanh")
}
"""Operations that torch does by others, with other roundings, once torch.autocast has cast them."""


def _batch_norm(*given: Any) -> Any:
    """A batch norm in training as operations that say that they change the statistics."""
    x, weight, bias, mean, variance, training, momentum, epsilon, *_ = given
    if not training or mean is None:
        return NotImplemented
    whole = decomposition_table[torch.ops.aten.native_batch_norm.default]
    return whole(x, weight, bias, mean, variance, True, momentum, epsilon)[0]


def _instance_norm(*given: Any) -> Any:
    """An instance norm in training as the batch norm that torch makes of it."""
    _, _, _, mean, _, training, *_ = given
    if not training or mean is None:
        return NotImplemented
    return torch.ops.aten.instance_norm.default.decompose(*given)


_TABLE[torch.ops.aten.batch_norm.default] = _batch_norm
_TABLE[torch.ops.aten.instance_norm.default] = _instance_norm


def traced(
    module: fx.GraphModule, arguments: Sequence[Any], free: Collection[int] = frozenset()
) -> fx.GraphModule:
    """The ATen operations that a graph does for arguments of these shapes.

    Its placeholders are the tensors among the arguments, in order, and then the numbers among them
    that are free, whose values are not known. Composed operations, such as attention, stay whole:
    what is traced is before torch's dispatcher takes them apart; after it if the graph uses
    torch.vmap, or casts by torch.autocast. Nothing is computed: the tensors have no elements.
    """
    nodes = module.graph.nodes if isinstance(module, fx.GraphModule) else ()
    items = any(node.target == "item" for node in nodes)
    symbols = ShapeEnv(allow_dynamic_output_shape_ops=False) if free or items else None
    fake = FakeTensorMode(allow_non_fake_inputs=True, shape_env=symbols, static_shapes=True)

    def run(*given: Any) -> Any:
        count = len(given) - len(free)
        tensors, numbers = iter(given[:count]), iter(given[count:])
        return module(
            *(
                next(tensors) if isinstance(a, torch.Tensor) else next(numbers) if n in free else a
                for n, a in enumerate(arguments)
            )
        )

    with torch._guards.tracing(None), torch.no_grad(), fake:
        fresh: list[Any] = [
            torch.empty_strided(a.shape, a.stride(), dtype=a.dtype, device=a.device)
            for a in arguments
            if isinstance(a, torch.Tensor)
        ]
        if symbols is not None:
            for n in sorted(free):
                real = isinstance(arguments[n], float)
                make = symbols.create_unbacked_symfloat if real else symbols.create_unbacked_symint
                fresh.append(make())
            symbols.pending_fresh_unbacked_symbols.clear()  # they are no results of operations
    with torch._guards.tracing(None), torch.no_grad(), fake:
        trace: fx.GraphModule = make_fx(run, _TABLE, pre_dispatch=True)(*fresh)
        casts = _casts(trace) and not casts_later(trace)
        if casts or any(map(_is_batched, trace.graph.nodes)):
            trace = make_fx(run, _TABLE)(*fresh)
    return trace


def casts_later(trace: fx.GraphModule) -> bool:
    """Whether torch.autocast casts operations of a trace when they run: beside recurrent layers."""
    return _casts(trace) and any(map(_is_recurrent, trace.graph.nodes))


def _casts(trace: fx.GraphModule) -> bool:
    """Whether torch.autocast casts for operations of a trace, which has no casts for them yet."""
    return torch.is_autocast_enabled("cpu") or any(map(_enters_autocast, trace.graph.nodes))


def _is_batched(node: fx.Node) -> bool:
    """Whether a result is one of many that torch.vmap computes at once; it has no strides."""
    value = node.meta.get("val")
    return isinstance(value, torch.Tensor) and torch._C._functorch.is_batchedtensor(value)


def _enters_autocast(node: fx.Node) -> bool:
    """Whether operations after a node are of other dtypes than they are called with."""
    return node.target is torch.amp.autocast_mode._enter_autocast and bool(node.args[2])


def _is_recurrent(node: fx.Node) -> bool:
    """Whether an operation is a recurrent layer."""
    return node.target in _RECURRENT
