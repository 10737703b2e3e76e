"""Systems with continuous states: linear and nonlinear ones, known and learned."""
