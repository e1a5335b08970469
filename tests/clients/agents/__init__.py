"""Agent programs that run in the environments of the clients' libraries, not in ours."""
