"""The loop and what it needs, and the contracts with everything around it: messages, events, ports, hooks.
Knows nobody; everybody may know its contracts, and who puts an agent together also the machinery."""
