"""Wire formats: each parses its messages to events and puts kept events back, byte for byte."""
