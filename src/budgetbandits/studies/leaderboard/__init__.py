"""All policies on a suite of problems, beside KUBE.

================  =================================================================================
`*.toml`          the lists: policies with their parameters, problems and presets, fixed before it is played
`suite`           reads such a list
`board`           what the runs say: every cell, the standings, and a policy beside the published ones
`run`             plays a list, and writes everything
`page`            the report
================  =================================================================================
"""
