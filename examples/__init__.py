"""Runnable environments and agents."""
