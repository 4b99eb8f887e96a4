"""Whether a policy was published, found from the policy itself."""

from budgetbandits.core.registry import Origin, definition_of
from budgetbandits.core.specs import Spec
from budgetbandits.policies.base import Policy
from budgetbandits.policies.forgetful import Forgetful
from budgetbandits.policies.index_policy import IndexPolicy
from budgetbandits.policies.indices import OptimisticRatio

__all__ = ["origin_of"]


def origin_of(policy: Policy) -> Origin:
    """Return whether a policy was published; one that is not registered is the own idea of who wrote it.

    It is the part that decides which counts: an index with any oracle and options, or with a memory, is as its index.

    Examples
    --------
    >>> import budgetbandits as bb
    >>> origin_of(bb.epsilon_first(0.1)), origin_of(bb.recommended())
    ('published', 'own')
    >>> origin_of(bb.Forgetful(bb.kube(), bb.memories.Window(1000)))
    'published'
    """
    part: Spec = policy
    while isinstance(part, Forgetful | IndexPolicy | OptimisticRatio):
        part = part.policy if isinstance(part, Forgetful) else part.index
    definition = definition_of(type(part))
    return "own" if definition is None else definition.origin
