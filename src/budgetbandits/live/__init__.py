"""The live learner: which arm to pull next, in memory."""
