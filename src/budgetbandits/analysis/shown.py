"""A figure that shows itself: the only class of matplotlib's that this package derives from.

It has a module of its own, which is loaded when something is drawn, so that the rest of the package works without
matplotlib.
"""

import io

from matplotlib.figure import Figure

__all__ = ["ShownFigure"]


class ShownFigure(Figure):
    """A figure of matplotlib's that a notebook shows without pyplot, and that has `savefig` and all else.

    Examples
    --------
    >>> figure = ShownFigure()
    >>> figure._repr_png_()[1:4]
    b'PNG'
    """

    def _repr_png_(self) -> bytes:
        """Return what a notebook shows."""
        buffer = io.BytesIO()
        self.savefig(buffer, format="png")
        return buffer.getvalue()
