"""The intermediate representation: dtypes, layouts, tensors, operations and Specs."""
