"""What the API offers: the GraphQL types, and nothing about how they are fetched."""
