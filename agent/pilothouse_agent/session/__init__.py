"""An agent put together, and the layer over the kernel that never loses a message.
Knows everything of the agent; the server knows it."""
