"""The nouns: dtypes, layouts, tensors, operations, Specs and Impls."""
