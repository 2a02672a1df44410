"""What every thing with an id has in common."""

import strawberry


@strawberry.interface
class Node:
    id: strawberry.ID
