"""Classes of rows: statistics, beliefs and densities, whether labels are known or probable."""
