"""Who is at the other end: its handshake, what real clients do, how they count positions and spell URIs."""
