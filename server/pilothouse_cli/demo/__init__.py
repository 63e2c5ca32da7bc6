"""The demo: a sample project that the scripted model mends."""
