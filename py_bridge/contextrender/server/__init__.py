"""The server: sessions of many owners over jac-cloud's collections, its walkers as endpoints, and what guards them."""
