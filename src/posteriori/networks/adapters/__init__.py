"""Networks of other libraries, networkx, pgmpy and pyAgrum, by the methods of their objects."""
