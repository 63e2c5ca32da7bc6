"""Names, frames and JSON of the wire. Knows nothing and costs next to nothing to load; everybody may
know it."""
