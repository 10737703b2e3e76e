from posteriori.sequence.linear_system import LinearSystem as LinearSystem
