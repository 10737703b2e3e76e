"""Machines of wide margins: their quadratic programs, solved pair by pair and column by column."""
