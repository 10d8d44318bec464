"""What is timed, one module for each library: a function prepares a task and returns the call to be timed.

Modules named after a peer run in the peers' environment, without grip2; they import from here by relative imports, and
nothing else but NumPy and the peer.
"""
