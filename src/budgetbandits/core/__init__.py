"""What everything else is made of: exact money, random numbers, special functions, specs, checks and tables."""
