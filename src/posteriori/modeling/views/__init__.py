"""Other views of models and posteriors: free energies, single data, graphs."""
