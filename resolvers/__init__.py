"""How a field is answered: loaders, pages and operations over rows."""
