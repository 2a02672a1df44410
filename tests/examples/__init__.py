"""The runnable environments, each driven as a worker drives it."""
