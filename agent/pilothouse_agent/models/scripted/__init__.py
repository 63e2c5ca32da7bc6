"""The model that plays a file, for tests, demos and scripts. A provider like any other."""
