"""What is particular to a target: which class is to be found, what mistakes cost, what gives it away, reasons."""
