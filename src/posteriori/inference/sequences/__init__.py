"""Hidden chains learned from sequences: emissions, laws of states, the ascent, evidence by draws."""
