"""The sessions of this process: requests in, events out, approvals and questions in between."""
