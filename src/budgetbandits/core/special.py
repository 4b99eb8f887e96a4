"""Quantiles and other functions of the normal and the Beta law, in plain arithmetic.

They use only :mod:`math`'s logarithms, exponentials and roots, whose bits are the same in Python and compiled; SciPy's
versions cannot be called from compiled code, and the last bits of ``erfc`` and ``lgamma`` depend on the C library.
"""

import math
from typing import Final

from budgetbandits.core.compiled import inlined, kernel

__all__ = ["CENTRE", "beta_fraction", "beta_quantile", "beta_root", "inverse_normal", "log_gamma"]

CENTRE: Final = 0.425  # how far from one half the middle one of the three rational functions of AS 241 reaches

# The limits of the loops below. Neither is reached for shapes from 0.001 to a million.
_FRACTION_TERMS: Final = 10_000
_ROOT_STEPS: Final = 100
_SERIES_FROM: Final = 12.0  # from here on five terms of Stirling's series are exact to 1e-15


@kernel
def inverse_normal(probability: float) -> float:
    """Inverse of the standard normal distribution function, to a relative accuracy of about 1e-16.

    Algorithm AS 241, routine PPND16 (M. J. Wichura, "The percentage points of the normal distribution",
    Applied Statistics 37 (1988) 477-484): three rational functions, for the middle, the tails and the far
    tails down to a probability of about 1e-316.
    """
    middle = probability - 0.5
    return normal_centre(middle) if abs(middle) <= CENTRE else normal_tail(probability)


@inlined
def normal_centre(middle: float) -> float:
    """Return the inverse normal of 0.5 + middle, for a middle of at most 0.425 in size."""
    r = 0.180625 - middle * middle
    top = 2.5090809287301226727e3
    top = top * r + 3.3430575583588128105e4
    top = top * r + 6.7265770927008700853e4
    top = top * r + 4.5921953931549871457e4
    top = top * r + 1.3731693765509461125e4
    top = top * r + 1.9715909503065514427e3
    top = top * r + 1.3314166789178437745e2
    top = top * r + 3.3871328727963666080e0
    bottom = 5.2264952788528545610e3
    bottom = bottom * r + 2.8729085735721942674e4
    bottom = bottom * r + 3.9307895800092710610e4
    bottom = bottom * r + 2.1213794301586595867e4
    bottom = bottom * r + 5.3941960214247511077e3
    bottom = bottom * r + 6.8718700749205790830e2
    bottom = bottom * r + 4.2313330701600911252e1
    bottom = bottom * r + 1.0
    return middle * top / bottom


@kernel
def normal_tail(probability: float) -> float:
    """Return the inverse normal where `normal_centre` does not reach."""
    # In Python the logarithm of 0 is an error: answer for the two ends first.
    if probability <= 0.0:
        return -math.inf
    if probability >= 1.0:
        return math.inf
    tail = probability if probability < 0.5 else 1.0 - probability
    r = math.sqrt(-math.log(tail))
    if r <= 5.0:
        r -= 1.6
        top = 7.74545014278341407640e-4
        top = top * r + 2.27238449892691845833e-2
        top = top * r + 2.41780725177450611770e-1
        top = top * r + 1.27045825245236838258e0
        top = top * r + 3.64784832476320460504e0
        top = top * r + 5.76949722146069140550e0
        top = top * r + 4.63033784615654529590e0
        top = top * r + 1.42343711074968357734e0
        bottom = 1.05075007164441684324e-9
        bottom = bottom * r + 5.47593808499534494600e-4
        bottom = bottom * r + 1.51986665636164571966e-2
        bottom = bottom * r + 1.48103976427480074590e-1
        bottom = bottom * r + 6.89767334985100004550e-1
        bottom = bottom * r + 1.67638483018380384940e0
        bottom = bottom * r + 2.05319162663775882187e0
        bottom = bottom * r + 1.0
    else:
        r -= 5.0
        top = 2.01033439929228813265e-7
        top = top * r + 2.71155556874348757815e-5
        top = top * r + 1.24266094738807843860e-3
        top = top * r + 2.65321895265761230930e-2
        top = top * r + 2.96560571828504891230e-1
        top = top * r + 1.78482653991729133580e0
        top = top * r + 5.46378491116411436990e0
        top = top * r + 6.65790464350110377720e0
        bottom = 2.04426310338993978564e-15
        bottom = bottom * r + 1.42151175831644588870e-7
        bottom = bottom * r + 1.84631831751005468180e-5
        bottom = bottom * r + 7.86869131145613259100e-4
        bottom = bottom * r + 1.48753612908506148525e-2
        bottom = bottom * r + 1.36929880922735805310e-1
        bottom = bottom * r + 5.99832206555887937690e-1
        bottom = bottom * r + 1.0
    return -top / bottom if probability < 0.5 else top / bottom


@kernel
def beta_fraction(a: float, b: float, x: float) -> float:
    """Continued fraction c such that the regularised incomplete beta is x^a (1-x)^b / (B(a, b) c).

    Converges fast for x up to (a+1) / (a+b+2), and beyond that point the caller swaps the two tails. This is
    the even part of the usual fraction (two of its terms at a time), by the modified Lentz method.
    """
    value = a * (a - (a + b) * x + 1.0) / (a + 1.0)
    above = value
    below = 0.0
    for n in range(1, _FRACTION_TERMS):
        odd = a + 2.0 * n - 1.0
        share = n * (b - n) * x / odd
        numerator = (a + n - 1.0) * (a + b + n - 1.0) * x / odd * share
        denominator = n + share + (a + n) * (a - (a + b) * x + 1.0 + n * (2.0 - x)) / (odd + 2.0)
        below = 1.0 / (denominator + numerator * below)
        above = denominator + numerator / above
        change = above * below
        value *= change
        if abs(change - 1.0) <= 4e-16:
            break
    return value


@kernel
def beta_start(a: float, b: float, power: float, u: float) -> float:
    """Guess the logarithm of the u-quantile of a Beta: where to start the search.

    For shapes of at least 1 the normal approximation of Abramowitz and Stegun 26.5.22, otherwise `power`, the
    solution of the leading term x^a / (a B(a, b)) = u.
    """
    if a < 1.0 or b < 1.0 or u < 1e-16:
        return power
    z = -inverse_normal(u)
    left = 1.0 / (2.0 * a - 1.0)
    right = 1.0 / (2.0 * b - 1.0)
    h = 2.0 / (left + right)
    curvature = (z * z - 3.0) / 6.0
    w = z * math.sqrt(curvature + h) / h - (right - left) * (curvature + 5.0 / 6.0 - 2.0 / (3.0 * h))
    return -math.log1p(b / a * math.exp(2.0 * w))


@kernel
def beta_root(a: float, b: float, log_beta: float, u: float) -> float:
    """Return x in [0, (a+1) / (a+b+2)] whose regularised incomplete beta is u.

    Newton's method for log I against t = log x. That curve is concave (b > 1) or convex (b < 1), so the steps
    close in from one side; they stay in a bracket and give way to bisection if they would leave it. Working
    with logarithms, nothing underflows. At the end a step of 1e-10 leaves an error of about its square.
    """
    target = math.log(u) + log_beta
    power = (target + math.log(a)) / a
    bottom = -745.0  # the exponential of anything less is 0
    if power < bottom:
        return 0.0
    # A little room above: by rounding, the root may lie just beyond the point where the tails are swapped.
    top = math.log((a + 1.0) / (a + b + 2.0)) + 1e-9
    t = min(beta_start(a, b, power, u), top)
    for _ in range(_ROOT_STEPS):
        x = math.exp(t)
        fraction = beta_fraction(a, b, x)
        gap = a * t + b * math.log1p(-x) - math.log(fraction) - target
        if gap > 0.0:
            top = t
        else:
            bottom = t
        following = t - gap * (1.0 - x) / fraction
        if not bottom <= following <= top:
            following = 0.5 * (bottom + top)
        move = abs(following - t)
        t = following
        if move <= 1e-10:
            break
    return math.exp(t)


@kernel
def log_gamma(x: float) -> float:
    """Return the logarithm of the gamma function of x > 0, by Stirling's series (Abramowitz and Stegun 6.1.41).

    >>> abs(log_gamma(5.0) - math.log(24.0)) < 1e-14
    True
    """
    product = 1.0
    while x < _SERIES_FROM:
        product *= x
        x += 1.0
    inverse = 1.0 / (x * x)
    series = 1.0 / 1188.0
    series = series * inverse - 1.0 / 1680.0
    series = series * inverse + 1.0 / 1260.0
    series = series * inverse - 1.0 / 360.0
    series = series * inverse + 1.0 / 12.0
    half_log_of_circle = 0.91893853320467274178
    return (x - 0.5) * math.log(x) - x + half_log_of_circle + series / x - math.log(product)


@kernel
def beta_quantile(a: float, b: float, u: float) -> float:
    """Return the u-quantile of the Beta law with the shapes a and b.

    >>> round(beta_quantile(2.0, 6.0, 0.5), 9)
    0.228489964
    """
    log_beta = log_gamma(a) + log_gamma(b) - log_gamma(a + b)
    swap = (a + 1.0) / (a + b + 2.0)
    log_split = a * math.log(swap) + b * math.log1p(-swap) - log_beta - math.log(beta_fraction(a, b, swap))
    if u <= math.exp(log_split):
        return min(beta_root(a, b, log_beta, u), 1.0)
    return max(1.0 - beta_root(b, a, log_beta, 1.0 - u), 0.0)
