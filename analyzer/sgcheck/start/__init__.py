"""What a start builds after its arguments: models, layers, attention backends, the draft.

SGLang's own code runs, from the scheduler's constructor on, over a torch without values
(`world/tensors`): see `docs/architecture.md`.
"""
