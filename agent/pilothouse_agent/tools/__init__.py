"""The model's tools, one file each, in rooms by what they touch; here is what all of them share.
Knows the kernel's contracts and `files`; sessions know it."""
