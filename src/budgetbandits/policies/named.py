"""Policies under the names that they are known by.

Every function here is one of `budgetbandits.policies`, without being listed anywhere. `IndexPolicy` stands here, too,
since in a file it needs a name like the others.
"""

from budgetbandits.policies import beliefs, indices, oracles
from budgetbandits.policies.base import POLICIES
from budgetbandits.policies.epsilon import KDE, BGreedy, EpsilonFirst, EpsilonGreedy
from budgetbandits.policies.index_policy import IndexPolicy
from budgetbandits.policies.indices.empirical import POINTS
from budgetbandits.policies.minimum_empirical_divergence import IMED, EmpiricalIMED
from budgetbandits.policies.price_of_knowledge import Poker
from budgetbandits.policies.soaav import AboveAverage
from budgetbandits.policies.thompson_sampling import Thompson
from budgetbandits.policies.with_knapsacks import Pacer, PrimalDualBwK, UCBBwK


@POLICIES.register(by=indices.UCB1, source="Tran-Thanh et al. 2012", proof="logarithmic for width 1")
def kube(width: float = 1.0) -> IndexPolicy:
    """KUBE: the upper confidence bounds of UCB1 with the density-ordered greedy (paper, Algorithm 1).

    Parameters
    ----------
    width
        The factor of the confidence interval; 1 is the one for which the regret bound is proved.

    Examples
    --------
    >>> kube()
    IndexPolicy(index=UCB1(width=1.0), oracle=DensityGreedy())
    """
    return IndexPolicy(indices.UCB1(width), oracles.DensityGreedy())


@POLICIES.register(by=indices.UCB1, source="Tran-Thanh et al. 2012", proof="logarithmic for width 1")
def fractional_kube(width: float = 1.0) -> IndexPolicy:
    """Fractional KUBE: the densest affordable arm by the bounds of UCB1 (paper, section 3.3).

    Examples
    --------
    >>> fractional_kube(width=0.5)
    IndexPolicy(index=UCB1(width=0.5), oracle=Fractional())
    """
    return IndexPolicy(indices.UCB1(width), oracles.Fractional())


@POLICIES.register(by=indices.UCB1)
def ucb1(width: float = 1.0) -> IndexPolicy:
    """UCB1 (Auer et al. 2002): the affordable arm with the highest upper confidence bound, whatever it costs.

    Examples
    --------
    >>> ucb1()
    IndexPolicy(index=UCB1(width=1.0), oracle=CostBlind())
    """
    return IndexPolicy(indices.UCB1(width), oracles.CostBlind())


@POLICIES.register(
    by=EpsilonFirst, source="Tran-Thanh et al. 2010", proof="B^(2/3) for a fitting share", usual={"epsilon": 0.1}
)
def epsilon_first(epsilon: float, exploit: oracles.Oracle = oracles.DensityGreedy()) -> EpsilonFirst:
    """Budget-limited ε-first: explore with a share ε of the budget, then exploit; see `EpsilonFirst`.

    Examples
    --------
    >>> epsilon_first(0.1)
    EpsilonFirst(epsilon=0.1, exploit=DensityGreedy())
    """
    return EpsilonFirst(epsilon, exploit)


@POLICIES.register(by=EpsilonGreedy, source="Auer et al. 2002", usual={"c": 5.0, "d": 0.5})
def epsilon_greedy(c: float, d: float) -> EpsilonGreedy:
    """ε_n-greedy (Auer et al. 2002) with the decreasing ε_n = min(1, c K / (d^2 n)); see `EpsilonGreedy`.

    Examples
    --------
    >>> epsilon_greedy(c=5, d=0.5)
    EpsilonGreedy(c=5, d=0.5)
    """
    return EpsilonGreedy(c, d)


@POLICIES.register(by=Poker, source="Vermorel and Mohri 2005")
def poker(horizon: float = 0.0) -> Poker:
    """POKER (Vermorel & Mohri 2005): the arm with the best price of knowledge and estimated reward; see `Poker`.

    Examples
    --------
    >>> poker()
    Poker(horizon=0.0)
    """
    return Poker(horizon)


@POLICIES.register(
    by=KDE,
    source="Tran-Thanh 2012 (thesis)",
    proof="said to be logarithmic if gamma fits the gaps; we have not checked the proof",
    usual={"gamma": 100.0},
)
def kde(gamma: float) -> KDE:
    """KDE (Tran-Thanh 2012): a random arm with probability min(1, γ / t), else KUBE's set by plain means; see `KDE`.

    Examples
    --------
    >>> kde(50)
    KDE(gamma=50, exploit=DensityGreedy())
    """
    return KDE(gamma)


@POLICIES.register(by=KDE, usual={"gamma": 100.0})
def fractional_kde(gamma: float) -> KDE:
    """Fractional KDE (Tran-Thanh 2012): a random arm with probability min(1, γ / t), else the densest; see `KDE`.

    Examples
    --------
    >>> fractional_kde(50)
    KDE(gamma=50, exploit=Fractional())
    """
    return KDE(gamma, oracles.Fractional())


@POLICIES.register(by=AboveAverage, source="Sen, Ridgway and Ripley 2014")
def above_average(x: float = 0.0) -> AboveAverage:
    """Survival of the above average, SOAAv (Sen et al. 2014): passes over the better arms; see `AboveAverage`.

    Examples
    --------
    >>> above_average()
    AboveAverage(x=0.0)
    """
    return AboveAverage(x)


@POLICIES.register(by=indices.UCBV)
def ucb_v(lazy: bool = True) -> IndexPolicy:
    """UCB-V on densities (Audibert et al. 2009), clipped to the reward range; see `UCBV`.

    Examples
    --------
    >>> ucb_v(lazy=False)
    IndexPolicy(index=UCBV(), oracle=Fractional(), clip=True)
    """
    return IndexPolicy(indices.UCBV(), oracles.Fractional(), clip=True, lazy=lazy)


@POLICIES.register(by=indices.UCBTuned)
def ucb_tuned(lazy: bool = True) -> IndexPolicy:
    """UCB1-tuned on densities (Auer et al. 2002), clipped to the reward range; see `UCBTuned`.

    Examples
    --------
    >>> ucb_tuned()
    IndexPolicy(index=UCBTuned(), oracle=Fractional(), clip=True, lazy=True)
    """
    return IndexPolicy(indices.UCBTuned(), oracles.Fractional(), clip=True, lazy=lazy)


@POLICIES.register(by=indices.MOSS)
def moss(lazy: bool = True) -> IndexPolicy:
    """MOSS on densities (Audibert and Bubeck 2009), with the horizon B / c, clipped to the reward range; see `MOSS`.

    Examples
    --------
    >>> moss()
    IndexPolicy(index=MOSS(), oracle=Fractional(), clip=True, lazy=True)
    """
    return IndexPolicy(indices.MOSS(), oracles.Fractional(), clip=True, lazy=lazy)


@POLICIES.register(by=indices.BayesUCB)
def bayes_ucb(lazy: bool = True) -> IndexPolicy:
    """Bayes-UCB on densities (Kaufmann et al. 2012): a high quantile of a Beta posterior; see `BayesUCB`.

    Examples
    --------
    >>> bayes_ucb()
    IndexPolicy(index=BayesUCB(), oracle=Fractional(), lazy=True)
    """
    return IndexPolicy(indices.BayesUCB(), oracles.Fractional(), lazy=lazy)


@POLICIES.register(by=indices.KLUCB)
def kl_ucb(lazy: bool = True) -> IndexPolicy:
    """KL-UCB on densities (Garivier and Cappé 2011): optimal without a budget, no proof with one; see `KLUCB`.

    Examples
    --------
    >>> kl_ucb()
    IndexPolicy(index=KLUCB(), oracle=Fractional(), lazy=True)
    """
    return IndexPolicy(indices.KLUCB(), oracles.Fractional(), lazy=lazy)


@POLICIES.register(by=indices.KLUCBPlus)
def kl_ucb_plus(lazy: bool = True) -> IndexPolicy:
    """KL-UCB+ on densities (Garivier and Cappé 2011): KL-UCB with ln(t / n) for ln t; see `KLUCBPlus`.

    Examples
    --------
    >>> kl_ucb_plus()
    IndexPolicy(index=KLUCBPlus(), oracle=Fractional(), lazy=True)
    """
    return IndexPolicy(indices.KLUCBPlus(), oracles.Fractional(), lazy=lazy)


@POLICIES.register(by=indices.KLUCBPlusPlus)
def kl_ucb_plus_plus(lazy: bool = True) -> IndexPolicy:
    """KL-UCB++ on densities (Ménard and Garivier 2017), with the horizon B / c; see `KLUCBPlusPlus`.

    Examples
    --------
    >>> kl_ucb_plus_plus()
    IndexPolicy(index=KLUCBPlusPlus(), oracle=Fractional(), lazy=True)
    """
    return IndexPolicy(indices.KLUCBPlusPlus(), oracles.Fractional(), lazy=lazy)


@POLICIES.register(by=indices.OmegaUCB, random_costs=True)
def omega_ucb(rho: float = 0.25, star: bool = False, lazy: bool = False) -> IndexPolicy:
    """ω-UCB (Heyden et al. 2024): Wilson's upper end over the cost; with `star`, ω*-UCB; see `OmegaUCB`.

    For random costs it is the upper end of the reward over the lower end of the cost: see `OptimisticRatio`.

    Examples
    --------
    >>> omega_ucb(lazy=True)
    IndexPolicy(index=OptimisticRatio(index=OmegaUCB(rho=0.25, star=False)), oracle=Fractional(), lazy=True)
    """
    return IndexPolicy(indices.OptimisticRatio(indices.OmegaUCB(rho, star)), oracles.Fractional(), lazy=lazy)


@POLICIES.register(by=indices.UCBBV1, usual={"least": 0.1})
def ucb_bv1(least: float) -> IndexPolicy:
    """UCB-BV1 (Ding et al. 2013), for random costs of which the least mean is known about; see `UCBBV1`.

    Examples
    --------
    >>> ucb_bv1(least=0.2)
    IndexPolicy(index=UCBBV1(least=0.2), oracle=Fractional())
    """
    return IndexPolicy(indices.UCBBV1(least), oracles.Fractional())


@POLICIES.register(by=indices.UCBBV2)
def ucb_bv2() -> IndexPolicy:
    """UCB-BV2 (Ding et al. 2013), for random costs; see `UCBBV2`.

    Examples
    --------
    >>> ucb_bv2()
    IndexPolicy(index=UCBBV2(), oracle=Fractional())
    """
    return IndexPolicy(indices.UCBBV2(), oracles.Fractional())


@POLICIES.register(by=indices.BudgetUCB, usual={"least": 0.1})
def budget_ucb(least: float) -> IndexPolicy:
    """Budget-UCB (Xia et al. 2015), for random costs of which the least mean is known about; see `BudgetUCB`.

    Examples
    --------
    >>> budget_ucb(least=0.2)
    IndexPolicy(index=BudgetUCB(least=0.2), oracle=Fractional())
    """
    return IndexPolicy(indices.BudgetUCB(least), oracles.Fractional())


@POLICIES.register(by=indices.IUCB)
def i_ucb(a: float = 0.25) -> IndexPolicy:
    """i-UCB (Xia et al. 2017), for random costs: a bonus for the ratio as a whole; see `IUCB`.

    Examples
    --------
    >>> i_ucb()
    IndexPolicy(index=IUCB(a=0.25), oracle=Fractional())
    """
    return IndexPolicy(indices.IUCB(a), oracles.Fractional())


@POLICIES.register(by=indices.CUCB)
def c_ucb(a: float = 0.125) -> IndexPolicy:
    """c-UCB (Xia et al. 2017), for random costs: a bonus for the reward, none for the cost; see `CUCB`.

    Examples
    --------
    >>> c_ucb()
    IndexPolicy(index=CUCB(a=0.125), oracle=Fractional())
    """
    return IndexPolicy(indices.CUCB(a), oracles.Fractional())


@POLICIES.register(by=indices.MUCB)
def m_ucb(a: float = 0.0625) -> IndexPolicy:
    """m-UCB (Xia et al. 2017), for random costs: optimistic about both reward and cost; see `MUCB`.

    Examples
    --------
    >>> m_ucb()
    IndexPolicy(index=MUCB(a=0.0625), oracle=Fractional())
    """
    return IndexPolicy(indices.MUCB(a), oracles.Fractional())


@POLICIES.register(by=BGreedy, source="Xia et al. 2017", proof="not checked", random_costs=True)
def b_greedy() -> BGreedy:
    """b-greedy (Xia et al. 2017), for random costs: any arm with probability min(1, K / t); see `BGreedy`.

    Examples
    --------
    >>> b_greedy()
    BGreedy(exploit=Fractional())
    """
    return BGreedy()


@POLICIES.register(by=indices.UCBSC)
def ucb_sc(plus: bool = True) -> IndexPolicy:
    """UCB-SC+ or, without the plus, UCB-SC (Watanabe et al. 2018), for random costs; see `UCBSC`.

    Examples
    --------
    >>> ucb_sc()
    IndexPolicy(index=UCBSC(plus=True), oracle=Fractional())
    """
    return IndexPolicy(indices.UCBSC(plus), oracles.Fractional())


@POLICIES.register(by=indices.KLUCBSC)
def kl_ucb_sc() -> IndexPolicy:
    """KL-UCB-SC (Watanabe et al. 2017), for random costs: optimal for 0/1 rewards and costs; see `KLUCBSC`.

    Examples
    --------
    >>> kl_ucb_sc()
    IndexPolicy(index=KLUCBSC(), oracle=Fractional())
    """
    return IndexPolicy(indices.KLUCBSC(), oracles.Fractional())


@POLICIES.register(by=indices.UCBB2)
def ucb_b2(alpha: float = 2.01, stable: bool = False) -> IndexPolicy:
    """UCB-B2 (Cayci et al. 2020), for random costs: knows the variances of rewards and costs; see `UCBB2`.

    Examples
    --------
    >>> ucb_b2()
    IndexPolicy(index=UCBB2(alpha=2.01, stable=False), oracle=Fractional())
    """
    return IndexPolicy(indices.UCBB2(alpha, stable), oracles.Fractional())


@POLICIES.register(by=indices.PrimalDual)
def primal_dual() -> IndexPolicy:
    """Primal-dual bandits with knapsacks (Badanidiyuru et al. 2013), for random costs; see `PrimalDual`.

    Examples
    --------
    >>> primal_dual()
    IndexPolicy(index=PrimalDual(), oracle=Fractional())
    """
    return IndexPolicy(indices.PrimalDual(), oracles.Fractional())


@POLICIES.register(
    by=PrimalDualBwK,
    source="Badanidiyuru et al. 2013",
    random_costs=True,
)
def primal_dual_bwk(w: float = 1.0) -> PrimalDualBwK:
    """Primal-dual bandits with knapsacks with time as a resource (Badanidiyuru et al. 2013); see `PrimalDualBwK`.

    Without requests it is nearly `primal_dual`.

    Examples
    --------
    >>> primal_dual_bwk()
    PrimalDualBwK(w=1.0)
    """
    return PrimalDualBwK(w)


@POLICIES.register(by=UCBBwK, random_costs=True)  # not a source: its constants are not those of the paper
def ucb_bwk(w: float = 1.0) -> UCBBwK:
    """After UCB for bandits with knapsacks (Agrawal and Devanur 2014), with constants of our own; see `UCBBwK`.

    Examples
    --------
    >>> ucb_bwk()
    UCBBwK(w=1.0)
    """
    return UCBBwK(w)


@POLICIES.register(by=Pacer, source="Taberner-Miller 2026", random_costs=True)
def pacer(step: float = 0.05, smoothing: float = 0.05, most: float = 5.0, w: float = 0.1) -> Pacer:
    """Pace the spending: a multiplier on cost, driven by spending against the budget per request; see `Pacer`.

    Examples
    --------
    >>> pacer()
    Pacer(step=0.05, smoothing=0.05, most=5.0, w=0.1)
    """
    return Pacer(step, smoothing, most, w)


@POLICIES.register(by=indices.EmpiricalKLUCB)
def empirical_kl_ucb(points: int = POINTS, lazy: bool = True) -> IndexPolicy:
    """Empirical KL-UCB on densities (Cappé et al. 2013), which looks at all rewards of an arm; see `EmpiricalKLUCB`.

    Examples
    --------
    >>> empirical_kl_ucb()
    IndexPolicy(index=EmpiricalKLUCB(points=65), oracle=Fractional(), lazy=True)
    """
    return IndexPolicy(indices.EmpiricalKLUCB(points), oracles.Fractional(), lazy=lazy)


@POLICIES.register(by=indices.KLUCBSwitch)
def kl_ucb_switch(points: int = POINTS, lazy: bool = True) -> IndexPolicy:
    """KL-UCB-switch on densities (Garivier et al. 2022), with the horizon B / c, clipped; see `KLUCBSwitch`.

    Examples
    --------
    >>> kl_ucb_switch()
    IndexPolicy(index=KLUCBSwitch(points=65), oracle=Fractional(), clip=True, lazy=True)
    """
    return IndexPolicy(indices.KLUCBSwitch(points), oracles.Fractional(), clip=True, lazy=lazy)


@POLICIES.register(by=IMED, source="Honda and Takemura 2015")
def imed() -> IMED:
    """IMED on densities (Honda and Takemura 2015): optimal without a budget, no proof with one; see `IMED`.

    Examples
    --------
    >>> imed()
    IMED()
    """
    return IMED()


@POLICIES.register(by=EmpiricalIMED, source="Honda and Takemura 2015")
def empirical_imed(points: int = POINTS) -> EmpiricalIMED:
    """IMED with K_inf (Honda and Takemura 2015), which looks at all rewards of an arm; see `EmpiricalIMED`.

    Examples
    --------
    >>> empirical_imed()
    EmpiricalIMED(points=65)
    """
    return EmpiricalIMED(points)


@POLICIES.register(
    by=Thompson,
    source="Xia et al. 2015",
    proof="where costs are random, logarithmic with `coin`, and without it for 0/1 rewards and costs",
    random_costs=True,
)
def thompson(lazy: bool = False, coin: bool = False) -> Thompson:
    """Budgeted Thompson sampling (Xia et al. 2015): the densest of means drawn from Beta laws; see `Thompson`.

    With `coin` it is as published, also for rewards other than 0 and 1. With a number of requests it is Thompson
    sampling with a linear programme (Ferreira, Simchi-Levi and Wang 2018).

    Examples
    --------
    >>> thompson()
    Thompson(lazy=False, coin=False)
    """
    return Thompson(lazy, coin)


@POLICIES.register(by=indices.ExpectedGain)
def recommended() -> IndexPolicy:
    """Learn a prior from the arms and pull the one with the most expected gain: the policy to begin with.

    It has no parameters. ``docs/policies.md`` compares it with published policies.

    >>> recommended()
    IndexPolicy(index=ExpectedGain(), oracle=Fractional(), belief=LearnedPrior())
    """
    return IndexPolicy(indices.ExpectedGain(), oracles.Fractional(), belief=beliefs.LearnedPrior())


@POLICIES.register("index_policy", usual={"index": indices.UCB1(), "oracle": oracles.DensityGreedy()})
def _index_policy(
    index: indices.Index,
    oracle: oracles.Oracle,
    clip: bool = False,
    lazy: bool = False,
    belief: beliefs.Belief = beliefs.SampleMeans(),
) -> IndexPolicy:
    """Any index (what is a pull worth?) with any oracle (what should the budget left buy?), on what is believed."""
    return IndexPolicy(index, oracle, clip, lazy, belief)
