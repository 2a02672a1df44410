"""The worker: real agents on real environments, one attempt at a time."""
