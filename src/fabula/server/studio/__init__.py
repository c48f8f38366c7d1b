"""Pages for a browser, for the same projects as `/api/v1`.

A page is a module in `pages` with its routes as `router`, and a template:

    router = APIRouter(include_in_schema=False)

    @router.get("/projects/{project}/edit")
    async def edit(request: Request, workspace: WorkspaceDep) -> Response:
        return page(request, "edit.html", texts=await asyncio.to_thread(workspace.artefacts))

`application` finds the module, `page` fills in the template, and `base.html` is the frame around it.
"""
