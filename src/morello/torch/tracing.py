"""From a graph of torch's compiler, and arguments, to a trace of ATen operations."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import torch
from torch import fx
from torch._decomp import decomposition_table
from torch._dynamo.convert_frame import compile_lock
from torch._ops import OpOverload
from torch._subclasses.fake_tensor import DataDependentOutputException, FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.experimental.symbolic_shapes import ShapeEnv
from torch.overrides import TorchFunctionMode

from morello.base.errors import GraphError, MorelloError
from morello.base.memory import uncollected
from morello.torch.inlining import Inlining
from morello.torch.picking import Picking

_APART = (
    "_fused_rms_norm_backward", "_log_softmax_backward_data", "_prelu_kernel_backward",
    "_softmax_backward_data", "addcdiv", "addcmul", "addr", "affine_grid_generator", "aminmax",
    "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh", "atleast_1d",
    "atleast_2d", "atleast_3d", "binary_cross_entropy", "binary_cross_entropy_backward",
    "binary_cross_entropy_with_logits", "block_diag", "broadcast_tensors", "cartesian_prod", "celu",
    "chain_matmul", "channel_shuffle", "column_stack", "cosine_embedding_loss", "count_nonzero",
    "cross_entropy_loss", "cumulative_trapezoid", "deg2rad", "diag", "diag_embed", "diagflat",
    "diagonal_backward", "diff", "dist", "dsplit", "dstack", "elu_backward",
    "embedding_dense_backward", "fft_fftshift", "fft_ifftshift", "fliplr", "flipud", "float_power",
    "gelu_backward", "glu", "glu_backward", "gradient", "hardshrink", "hardsigmoid_backward",
    "hardswish_backward", "hardtanh_backward", "heaviside", "hinge_embedding_loss", "hsplit",
    "hstack", "huber_loss", "huber_loss_backward", "inner", "isclose", "isin", "isneginf",
    "isposinf", "isreal", "kl_div", "kron", "l1_loss", "leaky_relu_backward", "linalg_cross",
    "linalg_diagonal", "linalg_matrix_norm", "linalg_matrix_power", "linalg_multi_dot",
    "linalg_vander", "linalg_vecdot", "log_sigmoid_backward", "logaddexp", "logaddexp2", "logit",
    "logit_backward", "logsumexp", "margin_ranking_loss", "matrix_power",
    "max_pool2d_with_indices_backward", "meshgrid", "mish_backward", "mse_loss",
    "mse_loss_backward", "multi_margin_loss", "nanmean", "nanquantile", "nansum",
    "native_batch_norm_backward", "native_group_norm", "native_group_norm_backward",
    "native_layer_norm", "native_layer_norm_backward", "nll_loss", "nll_loss2d",
    "nll_loss2d_backward", "nll_loss2d_forward", "nll_loss_backward", "nll_loss_forward",
    "nll_loss_nd", "norm", "pairwise_distance", "pixel_shuffle", "pixel_unshuffle",
    "poisson_nll_loss", "positive", "quantile", "rad2deg", "ravel", "reflection_pad1d_backward",
    "reflection_pad2d_backward", "reflection_pad3d_backward", "renorm", "rot90", "select_backward",
    "selu", "sgn", "sigmoid_backward", "silu_backward", "sinc", "slice_backward", "smooth_l1_loss",
    "smooth_l1_loss_backward", "soft_margin_loss", "soft_margin_loss_backward", "softplus_backward",
    "softshrink", "special_entr", "special_erf", "special_erfc", "special_exp2", "special_expit",
    "special_expm1", "special_log1p", "special_log_softmax", "special_logit", "special_ndtr",
    "special_sinc", "special_softmax", "special_xlog1py", "special_xlogy", "sum_to_size", "take",
    "take_along_dim", "tanh_backward", "tensordot", "threshold", "threshold_backward", "tile",
    "trace", "trapezoid", "trapz", "triplet_margin_loss", "unfold_backward", "unsafe_chunk", "vdot",
    "vsplit", "vstack", "xlogy",
)  # fmt: skip
"""Operations that torch takes apart into simpler ones, all of which graphs have.

The loss of margins with several labels is none of them: its parts add the margin of class 0
for each place without a label.
"""


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


@uncollected()
def traced(
    module: fx.GraphModule, arguments: Sequence[Any], free: Collection[int] = frozenset()
) -> fx.GraphModule:
    """The ATen operations that a graph does for arguments of these shapes.

    Its placeholders are the tensors among the arguments, in order, and then the numbers among them
    that are free, whose values are not known. Composed operations, such as attention, stay whole:
    what is traced is before torch's dispatcher takes them apart; after it if the graph uses
    torch.func, or casts by torch.autocast. Nothing is computed: the tensors have no elements.
    Raises `GraphError` if it cannot be traced.
    """
    try:
        return _traced(module, arguments, free)
    except MorelloError:
        raise
    except DataDependentOutputException as error:
        raise GraphError(
            "a size in it is the number of a tensor",
            "torch.onnx.export(..., dynamo=False) makes constants of those of buffers",
        ) from error
    except Exception as error:  # whatever the operations of the graph raise
        raise GraphError(f"it cannot be traced: {error}") from error


def _traced(
    module: fx.GraphModule, arguments: Sequence[Any], free: Collection[int]
) -> fx.GraphModule:
    nodes = module.graph.nodes if isinstance(module, fx.GraphModule) else ()
    items = any(node.target == "item" for node in nodes)
    symbols = ShapeEnv(allow_dynamic_output_shape_ops=False) if free or items else None
    fake = FakeTensorMode(allow_non_fake_inputs=True, shape_env=symbols, static_shapes=True)

    picking = Picking()

    def run(*given: Any) -> Any:
        count = len(given) - len(free)
        tensors, numbers = iter(given[:count]), iter(given[count:])
        every = (
            next(tensors) if isinstance(a, torch.Tensor) else next(numbers) if n in free else a
            for n, a in enumerate(arguments)
        )
        with _ResultsCopied(), Inlining(), picking:
            return module(*every)

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
    # torch.func's derivatives of what is not recorded are zeros
    derives = any(node.target is torch._C._functorch._grad_increment_nesting for node in nodes)
    with _alone(), torch._guards.tracing(None), torch.set_grad_enabled(derives), fake:
        trace: fx.GraphModule = make_fx(run, _TABLE, pre_dispatch=True)(*fresh)
        casts = _casts(trace) and not casts_later(trace)
        if casts or any(map(_is_transformed, trace.graph.nodes)):
            trace = make_fx(run, _TABLE)(*fresh)
    picking.check(trace)
    trace.graph.eliminate_dead_code()  # such as comparisons of sizes
    return trace


@contextmanager
def _alone() -> Iterator[None]:
    """While it is traced, other threads compile nothing, and may call compiled functions.

    Tracing replaces methods of all modules, and torch refuses such calls while it believes that a
    user traces the function.
    """
    with compile_lock, patch.object(torch.compiler, "_is_compiling_flag", True, create=True):
        yield


class _ResultsCopied(TorchFunctionMode):  # type: ignore[misc]  # torch has no types
    """Functions with tensors for their results, `out`, copy results of their own into these."""

    def __torch_function__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        given = dict(kwargs or {})
        out = given.pop("out", None)
        if out is None:
            return function(*args, **given)
        results = function(*args, **given)
        pairs = [*zip(*(_several(each) for each in (out, results)), strict=True)]
        if any((a.shape, a.dtype) != (b.shape, b.dtype) for a, b in pairs):
            return function(*args, **given, out=out)
        for place, result in pairs:
            place.copy_(result)
        return out


def _several(given: Any) -> tuple[torch.Tensor, ...]:
    """The tensors of a result, which is one or several."""
    return (given,) if isinstance(given, torch.Tensor) else tuple(given)


def casts_later(trace: fx.GraphModule) -> bool:
    """Whether torch.autocast casts operations of a trace when they run: beside recurrent layers."""
    return _casts(trace) and any(map(_is_recurrent, trace.graph.nodes))


def _casts(trace: fx.GraphModule) -> bool:
    """Whether torch.autocast casts for operations of a trace, which has no casts for them yet."""
    return torch.is_autocast_enabled("cpu") or any(map(_enters_autocast, trace.graph.nodes))


def _is_transformed(node: fx.Node) -> bool:
    """Whether a result is what torch.func computes with: one of a batch, or with derivatives."""
    value = node.meta.get("val")
    return isinstance(value, torch.Tensor) and torch._C._functorch.is_functorch_wrapped_tensor(
        value
    )


def _enters_autocast(node: fx.Node) -> bool:
    """Whether operations after a node are of other dtypes than they are called with."""
    return node.target is torch.amp.autocast_mode._enter_autocast and bool(node.args[2])


def _is_recurrent(node: fx.Node) -> bool:
    """Whether an operation is a recurrent layer."""
    return node.target in _RECURRENT
