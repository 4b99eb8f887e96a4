from numba.core import cgutils as cgutils
from numba.core import errors as errors
from numba.core import event as event
from numba.core import types as types
