"""What the proxy counts, for /metrics."""

from prometheus_client import Counter, Histogram

REQUESTS = Counter(
    "contextrender_proxy_requests_total",
    "Model calls by wire format, what became of them (rendered, passed) and why",
    ("wire", "outcome", "reason"),
)
UPSTREAM = Counter("contextrender_proxy_upstream_total", "Answers of providers by status class", ("wire", "status"))
HANGUPS = Counter("contextrender_proxy_client_disconnects_total", "Clients that hung up before the end", ("wire",))
PREPARE = Histogram(
    "contextrender_proxy_prepare_seconds",
    "Time from a request's last byte to its sending",
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0),
)
SAVED = Counter("contextrender_proxy_omitted_tokens_total", "History tokens that were not sent", ("wire",))
