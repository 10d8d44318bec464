"""The network engine: an MLP trained while its first-layer group penalty moves over a surface of strengths and shapes.

It knows nothing of knockoffs, and it is the only package that imports JAX, so the sweeps of a Gibbs sampler live here too: NumPy
arrays cross its border both ways.
"""
