"""Side by side with the tools that a user would pick instead."""
