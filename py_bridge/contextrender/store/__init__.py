"""The embedded store: one SQLite file that jac-cloud uses as its MongoDB and its Redis.

    store = open_store(Path("data/contextrender.db"))
    Collection.__client__, Redis.__redis__ = store.client, store.redis   # before FastAPI.enable()

Documents are BSON, filters and updates mean what they mean in MongoDB, declared indexes are real ones, and what the
store doesn't know it refuses. `embedded` opens and checks; `client` and `collection` have PyMongo's shape; `query`,
`update` and `projection` are pure; `sqlite` and `catalog` know the file.
"""

from contextrender.store.client import Client, ClientSession, Database
from contextrender.store.collection import Collection
from contextrender.store.embedded import Problem, Store, open_store
from contextrender.store.errors import (
    StoreCorruptedError,
    StoreError,
    StoreForeignError,
    StoreFullError,
    StoreLockedError,
    StoreNewerError,
    StoreReadOnlyError,
)

__all__ = [
    "Client",
    "ClientSession",
    "Collection",
    "Database",
    "Problem",
    "Store",
    "StoreCorruptedError",
    "StoreError",
    "StoreForeignError",
    "StoreFullError",
    "StoreLockedError",
    "StoreNewerError",
    "StoreReadOnlyError",
    "open_store",
]
