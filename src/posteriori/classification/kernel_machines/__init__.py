"""Classification by kernels: what scalar products of rows suffice for."""
