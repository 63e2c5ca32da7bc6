"""Files as the agent reads and writes them: disk, write queue, what the model has read.
Knows the kernel's contracts; tools and sessions know it."""
