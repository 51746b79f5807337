"""Lengthscale (and noise) estimation: maximum a posteriori, and Hamiltonian Monte Carlo."""
