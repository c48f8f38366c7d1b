"""Characters over HTTP: any program that talks to OpenAI's chat completions can talk to them.

From the network inwards: `app` has the addresses and `wire` the formats. `projects` knows the characters, and `scenes`
knows who is present and who speaks. `histories` finds the conversation that a client does not name, and `turns` makes
the next turn.
"""
