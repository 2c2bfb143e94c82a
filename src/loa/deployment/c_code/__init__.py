"""Programs of JAX as files of C without allocation, for small dense problems."""

from .file import write_c as write_c
