"""Many runs of many policies: `simulate`, the runs that come of it, and the compiled engine that plays them."""
