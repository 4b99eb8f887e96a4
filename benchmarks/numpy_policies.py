"""KUBE and fractional KUBE as a good user of NumPy would write them: what this package is measured against."""

import math

import numpy as np

from budgetbandits import Problem


class NumpyKube:
    """KUBE on the paper's truncated Gaussians, sorting once a step."""

    def __init__(self, problem: Problem, budget: float, width: float, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.costs, self.means = problem.costs, problem.means
        self.scale = width * (problem.reward_range[1] - problem.reward_range[0])
        self.cost_min = self.costs.min()
        self.left = budget - self.costs.sum()
        self.pulls = np.ones(len(self.costs))
        self.sums = np.array([self.reward(arm) for arm in range(len(self.costs))])
        self.t = len(self.costs) + 1

    def reward(self, arm: int) -> float:
        mean = self.means[arm]
        while True:
            reward: float = self.rng.normal(mean, math.sqrt(mean / 2))
            if 0 <= reward <= 2 * mean:
                return reward

    def densities(self) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        bounds = self.sums / self.pulls + self.scale * np.sqrt(2 * math.log(self.t) / self.pulls)
        densities: np.ndarray[tuple[int], np.dtype[np.float64]] = bounds / self.costs
        return densities

    def choose(self) -> int:
        residual = self.left
        arms, counts = [], []
        for arm in np.argsort(-self.densities()):
            if self.costs[arm] <= residual:
                count = residual // self.costs[arm]
                residual -= count * self.costs[arm]
                arms.append(arm)
                counts.append(count)
                if residual < self.cost_min:
                    break
        position = np.searchsorted(np.cumsum(counts), self.rng.random() * sum(counts), side="right")
        return int(arms[position])

    def step(self) -> bool:
        if self.left < self.cost_min:
            return False
        arm = self.choose()
        self.sums[arm] += self.reward(arm)
        self.pulls[arm] += 1
        self.left -= self.costs[arm]
        self.t += 1
        return True


class NumpyFractionalKube(NumpyKube):
    """Fractional KUBE: one argmax a step."""

    def choose(self) -> int:
        densities = self.densities()
        if self.left < self.costs.max():
            densities[self.costs > self.left] = -1.0
        return int(np.argmax(densities))
