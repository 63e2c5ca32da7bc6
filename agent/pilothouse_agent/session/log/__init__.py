"""What a session has been: one append-only file each, and everything that is read out of it again.
Knows the kernel's contracts; `session` and the command line know it."""
