"""Who is logged in: whoever the token names. Threads and runs are their owner's, and the store is nobody's."""

from langgraph_sdk import Auth

auth = Auth()


@auth.authenticate
async def who(authorization: str | None):
    if not authorization:
        raise Auth.exceptions.HTTPException(status_code=401, detail="log in")
    return {"identity": authorization.removeprefix("Bearer ")}


@auth.on
async def own(ctx, value):
    owner = {"owner": ctx.user.identity}
    value.setdefault("metadata", {}).update(owner)
    return owner


@auth.on.store
async def nobody(ctx, value):
    return False
