"""Whole experiments, from the settings to a folder with figure, tables and report.

================  ===========================================================
`folder`          the folder of an experiment: whose it is, and safe writing
`study`           what is simulated, and playing it in steps that survive an interruption
`kube_paper`      section 5 of the paper: settings, presets, what is written
`claims`          the paper's claims, the rules of their verdicts, and what the runs say
`readings`        other readings of the paper, tried where a claim fails
`growth`          does a regret grow like ln B or like B^(2/3)?
`outputs`         what every experiment writes: tables, curves, versions
`report`          the page, as HTML and as Markdown
`catalogue`       policies and reward laws by name, with their parameters
`study_file`      a user's own experiment, from a TOML file
================  ===========================================================
"""
