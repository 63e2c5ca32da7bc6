"""Which providers and models there are, what is known of them, and which one answers.
Knows all of `models`; the rooms beside it know nothing of it."""
