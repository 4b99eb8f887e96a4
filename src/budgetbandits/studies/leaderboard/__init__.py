"""All policies on a suite of problems, beside KUBE.

================  =================================================================================
`*.toml`          the lists: policies with their parameters, problems and presets, fixed before it is played
`suite`           reads such a list
`cells`           a policy on one problem with one budget
`board`           what the runs say: every cell, the standings, and a policy beside the published ones
`shortfalls`      where a policy falls short of the best, and its blind spots
`search`          the problems on which a policy does worst
`run`             plays a list, and writes everything
`page`            the report
================  =================================================================================
"""
