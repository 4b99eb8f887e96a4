"""Policies that doubt the costs, too: the contract for each, which mixes known and random costs."""

import budgetbandits as bb
from contract import PolicyContract
from reference import (
    IndexTwin,
    about_fractional,
    budget_ucb,
    i_ucb,
    kl_ucb,
    kl_ucb_sc,
    log_time,
    omega_ucb,
    optimistic_ratio,
    primal_dual,
    ucb1,
    ucb_b2,
    ucb_bv1,
    ucb_bv2,
    ucb_sc,
)


class TestOmegaUcb(PolicyContract):
    policy = bb.omega_ucb()
    twin = IndexTwin(optimistic_ratio(omega_ucb(0.25)), about_fractional)


class TestLazyOmegaStarUcb(PolicyContract):
    policy = bb.omega_ucb(rho=1.0, star=True, lazy=True)
    twin = IndexTwin(optimistic_ratio(omega_ucb(1.0, star=True)), about_fractional, lazy=True)


class TestMUcb(PolicyContract):
    policy = bb.m_ucb()
    twin = IndexTwin(optimistic_ratio(ucb1(0.0625 / 2**0.5)), about_fractional)


class TestOptimisticKlUcb(PolicyContract):
    policy = bb.IndexPolicy(bb.OptimisticRatio(bb.KLUCB()), bb.Fractional(), lazy=True)
    twin = IndexTwin(optimistic_ratio(kl_ucb(log_time)), about_fractional, lazy=True)


class TestCUcb(PolicyContract):
    policy = bb.c_ucb()
    twin = IndexTwin(ucb1(0.125 / 2**0.5), about_fractional)


class TestIUcb(PolicyContract):
    policy = bb.i_ucb()
    twin = IndexTwin(i_ucb(0.25), about_fractional)


class TestUcbBv1(PolicyContract):
    policy = bb.ucb_bv1(least=0.8)
    twin = IndexTwin(ucb_bv1(0.8), about_fractional)


class TestUcbBv2(PolicyContract):
    policy = bb.ucb_bv2()
    twin = IndexTwin(ucb_bv2, about_fractional)


class TestBudgetUcb(PolicyContract):
    policy = bb.budget_ucb(least=0.1)
    twin = IndexTwin(budget_ucb(0.1), about_fractional)


class TestUcbSc(PolicyContract):
    policy = bb.ucb_sc(plus=False)
    twin = IndexTwin(ucb_sc(plus=False), about_fractional)


class TestUcbScPlus(PolicyContract):
    policy = bb.ucb_sc()
    twin = IndexTwin(ucb_sc(plus=True), about_fractional)


class TestKlUcbSc(PolicyContract):
    policy = bb.kl_ucb_sc()
    twin = IndexTwin(kl_ucb_sc, about_fractional)


class TestUcbB2(PolicyContract):
    policy = bb.ucb_b2(alpha=0.01)
    twin = IndexTwin(ucb_b2(0.01), about_fractional)


class TestPrimalDual(PolicyContract):
    policy = bb.primal_dual()
    twin = IndexTwin(primal_dual, about_fractional)
