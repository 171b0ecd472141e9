"""The calls of NX/2 as functions, as in Intel's library: each is made for the process whose code calls it.

In a plain function they block; in an async one they are awaited, but for those that only tell something.
"""

import functools

from .application import calling
from .process import Process

__all__ = [
    "csend",
    "crecv",
    "cprobe",
    "isend",
    "irecv",
    "msgwait",
    "msgdone",
    "iprobe",
    "hrecv",
    "masktrap",
    "flick",
    "infotype",
    "infocount",
    "infonode",
    "infopid",
    "mynode",
    "mypid",
    "numnodes",
    "gsync",
    "gdsum",
    "gdprod",
    "gdhigh",
    "gdlow",
    "gisum",
    "giprod",
    "gihigh",
    "gilow",
    "gland",
    "glor",
    "gcol",
    "gcolx",
    "gopf",
    "gsendx",
]


def _for_the_caller(method):
    """``method`` of Process as a function."""

    @functools.wraps(method)
    def call(*args, **options):
        return getattr(calling(method.__name__), method.__name__)(*args, **options)

    return call


csend = _for_the_caller(Process.csend)
crecv = _for_the_caller(Process.crecv)
cprobe = _for_the_caller(Process.cprobe)
isend = _for_the_caller(Process.isend)
irecv = _for_the_caller(Process.irecv)
msgwait = _for_the_caller(Process.msgwait)
msgdone = _for_the_caller(Process.msgdone)
iprobe = _for_the_caller(Process.iprobe)
hrecv = _for_the_caller(Process.hrecv)
masktrap = _for_the_caller(Process.masktrap)
flick = _for_the_caller(Process.flick)
infotype = _for_the_caller(Process.infotype)
infocount = _for_the_caller(Process.infocount)
infonode = _for_the_caller(Process.infonode)
infopid = _for_the_caller(Process.infopid)
mynode = _for_the_caller(Process.mynode)
mypid = _for_the_caller(Process.mypid)
numnodes = _for_the_caller(Process.numnodes)
gsync = _for_the_caller(Process.gsync)
gdsum = _for_the_caller(Process.gdsum)
gdprod = _for_the_caller(Process.gdprod)
gdhigh = _for_the_caller(Process.gdhigh)
gdlow = _for_the_caller(Process.gdlow)
gisum = _for_the_caller(Process.gisum)
giprod = _for_the_caller(Process.giprod)
gihigh = _for_the_caller(Process.gihigh)
gilow = _for_the_caller(Process.gilow)
gland = _for_the_caller(Process.gland)
glor = _for_the_caller(Process.glor)
gcol = _for_the_caller(Process.gcol)
gcolx = _for_the_caller(Process.gcolx)
gopf = _for_the_caller(Process.gopf)
gsendx = _for_the_caller(Process.gsendx)
