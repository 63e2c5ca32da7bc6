"""Where keys of providers come from. Only `choosing` and the command line know it."""
