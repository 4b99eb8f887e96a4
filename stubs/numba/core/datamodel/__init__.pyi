from numba.core.datamodel import models as models
