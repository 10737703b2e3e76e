"""A dated column made ready to be forecast: times, calendars, later steps, holidays."""
