"""The pipeline from deny list to question. Knows the kernel's contracts; settings and sessions know it."""
