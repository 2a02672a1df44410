"""What a member or token may do."""

from enum import Enum

import strawberry


@strawberry.enum
class MemberRole(Enum):
    OWNER = "owner"
    MEMBER = "member"
    VIEWER = "viewer"
    WORKER = "worker"
