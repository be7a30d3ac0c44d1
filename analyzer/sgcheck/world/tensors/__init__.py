"""torch without values: tensors are shape, dtype, device and storage; modules hold parameters.

What a start builds is decided by shapes, dtypes and classes. A question about a value (`item()`, a
branch on an element) is unknown, unless the tensor was made from constants and nothing wrote to it.
"""
