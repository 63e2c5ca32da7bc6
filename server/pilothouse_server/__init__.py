"""The server behind an editor, and for any client that speaks JSON-RPC. Each room knows those before it:
wire, transport, protocol, client, documents, edits, sessions, chat; `server` puts them together."""

__version__ = "0.1.0"
