"""Whole experiments, from the settings to a folder with figure, tables and report.

================  =================================================================================
`folder`          the folder of an experiment: whose it is, and safe writing
`study`           what is simulated, and playing it in steps that survive an interruption
`growth`          whether a regret grows like ln B or like B^(2/3)
`report`          a page of text, tables and figures, as HTML and as Markdown
`outputs`         what every experiment writes: tables, curves, versions
`catalogue`       policies, indices, oracles, reward laws and problems made from their names and parameters
`listing`         all of them with their parameters and facts: for the terminal, and as tables for the documentation
`keys`            TOML files, and errors that name the key, the value and what is allowed
`kube_paper`      section 5 of the paper: the reproduction and the verdicts on its claims
`own_study`       a user's own experiment, from a TOML file
`leaderboard`     all policies on a suite of problems, beside KUBE
================  =================================================================================
"""
