"""The reproduction of the paper's section 5, and the verdicts on its claims.

================  =================================================================================
`reproduction`    settings and presets; plays, judges and writes everything
`claims`          the claims of the paper, each with its rule in words
`rules`           the rules as functions of the evidence
`evidence`        the runs, and what a finding is
`readings`        other readings of the paper, tried where a claim fails
`page`            the report, and the claims for a terminal
================  =================================================================================
"""
