"""The proxy: speaks the providers' protocols, so that a client changes its base URL and nothing else.

`app` takes requests and decides, `upstream` sends them on, `downstream` is the client's side; `routes`, `headers` and
`replies` are pure. Whatever goes wrong here, the client's own bytes reach the provider.
"""
