"""A user's own experiment, from a TOML file.

================  =================================================================================
`run`             plays what a file describes, and writes everything
`study_file`      what can stand in the file
`catalogue`       policies, indices, oracles and reward laws by name, with their parameters
`keys`            errors that name the key, the value and what is allowed
================  =================================================================================
"""
