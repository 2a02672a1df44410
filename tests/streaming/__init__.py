"""Lines and files over HTTP."""
