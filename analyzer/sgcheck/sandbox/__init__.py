"""The process in which the code of a tree runs, and what keeps it in there.

One process serves one tree. It has no environment, no descriptors but its two pipes, and can
neither write, start anything, nor reach a network (see `walls`). The texts of files come from its
parent, and plain data goes back, which the parent reads by the type that it expects (`codec`).
"""
