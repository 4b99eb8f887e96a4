"""Settings of Hypothesis for all tests.

Builds are repeatable: the same examples each time. To look further, run ``pytest --hypothesis-profile=wide``.
"""

from hypothesis import settings

settings.register_profile("workshop", deadline=None, derandomize=True)
settings.register_profile("wide", deadline=None, max_examples=2000)
settings.load_profile("workshop")
