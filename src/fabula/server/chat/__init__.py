"""Characters over HTTP: any program that talks to OpenAI's chat completions can talk to them.

From the wire inwards: `app` knows the addresses, `wire` the shapes; `projects` knows who can be talked to, `scenes` who
is there and who speaks, `histories` finds the conversation that a conversation without a name is, and `turns` makes the
next turn.
"""
