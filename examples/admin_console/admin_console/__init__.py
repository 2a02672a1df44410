"""The admin console of a small shop: a seeded world, its Model Context Protocol server, and its evaluator."""
