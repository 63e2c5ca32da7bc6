"""Our own connection under pygls: reader, JSON-RPC, outbox, writer, and the life of the process.
Knows `wire` alone."""
