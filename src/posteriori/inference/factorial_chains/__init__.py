"""Several hidden chains whose effects add up: Kronecker passes, variational chains, learning."""
