"""Files for browsers, served as they are."""
