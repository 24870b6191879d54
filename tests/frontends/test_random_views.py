"""Random texts with views compute what NumPy does."""

from __future__ import annotations

import numpy as np
from tests.frontends.random_views import random_text

from morello.base.errors import SpecError
from morello.graph.graph import check
from morello.graph.interpreter import evaluate
from morello.importers.text import graph_of


def test_random_views_are_those_of_numpy() -> None:
    refused = 0
    for seed in range(40):
        part, (shape,) = random_text(seed)
        try:
            graph = graph_of(part.text)
        except SpecError as error:
            assert "is on this side of diagonal" in str(error), part.text
            refused += 1
            continue
        check(graph)
        x = np.random.default_rng(seed).standard_normal(shape)
        (found,) = evaluate(graph, [x])
        wanted = part.value([x])
        assert found.shape == wanted.shape, part.text
        np.testing.assert_allclose(found, wanted, 1e-9, 1e-9, err_msg=part.text)
    assert refused < 8
