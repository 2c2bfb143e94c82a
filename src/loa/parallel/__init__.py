"""Work on several processes or machines: anything with the interface of `concurrent.futures`."""

from .processes import Processes as Processes
