"""Characters over HTTP: a server that any program which talks to OpenAI's chat completions can talk to.

The modules, from the wire inwards: `running` holds the socket, `gate` lets requests in, `app` knows the addresses,
`wire` the shapes, `faults` the errors; `projects` knows who can be talked to, `scenes` who is there and who speaks,
`histories` finds the session that a conversation without a name is, and `turns` makes the next turn.
"""
