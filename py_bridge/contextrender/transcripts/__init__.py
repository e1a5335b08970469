"""Wire formats: each parses its messages to events and puts kept events back, byte for byte.

wire_format("chat" | "responses" | "messages") in `wire` is the way in; `format` says what each of them can do.
"""
