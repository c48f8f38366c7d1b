"""What fabula offers over a network: characters to chat programs, projects to programs and browsers, studies to raters.

`running` holds the socket, `connections` limits the connections, `gate` admits requests, and `browser` admits requests
of browsers. `faults` has the errors, `shelf` the projects that are served, `state` what handlers share and what
notices changes from outside, and `conversations` the conversations in progress. The other packages and modules:

- `chat`: characters, for any program that talks to OpenAI's chat completions;
- `api`: projects, at `/api/v1`;
- `studio`: pages for a browser, for the same projects;
- `study`: pages for people who rate stories;
- `mcp_server`, `mcp_tools`: projects for clients of the Model Context Protocol;
- `lsp`: the texts of projects in editors, over the Language Server Protocol.
"""
