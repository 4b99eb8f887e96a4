"""A user's own experiment, from a TOML file.

================  =================================================================================
`run`             plays what a file describes, and writes everything
`study_file`      what can stand in the file
================  =================================================================================
"""
