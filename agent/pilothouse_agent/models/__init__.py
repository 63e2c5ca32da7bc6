"""Model providers: requests out, one stream of typed events in, failures as the last event.
Knows the kernel's contracts; settings and sessions know it."""
