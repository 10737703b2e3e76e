"""What a posterior hands over to the data that follow."""
