"""What fabula offers over a network: characters to chat programs, projects to programs and browsers, studies to raters.

`running` holds the socket, `connections` bounds what holds it, `gate` lets requests in, `browser` those of browsers;
`faults` are the errors. `shelf` has the projects that are served, `state` what handlers share, `conversations` those
that go on, and `watching` sees what is changed outside. The rooms:

- `chat`: characters, for any program that talks to OpenAI's chat completions;
- `api`: projects, as `/api/v1`;
- `studio`: pages for a browser over the same;
- `study`: pages for people who rate stories;
- `mcp_server`, `mcp_tools`: projects for clients of the Model Context Protocol.
"""
