"""How hidden chains are learned from what users give: emissions and laws by name, data, answers."""
