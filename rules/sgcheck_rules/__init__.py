"""What people know about machines, models and kernels, and the checks over a resolved launch."""
