"""The engine: an MLP trained while the group penalty on its first layer changes its strength and geometry, and Gibbs sweeps.

The only package that imports JAX. NumPy arrays go in and come out; it knows nothing of knockoffs or of kinds of responses.
"""
