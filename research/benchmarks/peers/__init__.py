"""Other optimizers behind one interface: adapters, the environments they live in, and the process
that runs one.
"""
