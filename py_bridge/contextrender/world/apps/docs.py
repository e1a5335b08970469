"""The documentation app: the tools describe themselves, as verbosely as real API documentation does."""

from contextrender.world.registry import ERRORS, TOOLS, Json, Tool, ToolError, tool
from contextrender.world.state import State


@tool(
    "api_docs",
    args={"query": "Words to look for in names and descriptions.", "limit": "At most this many APIs."},
    returns={
        "apis": "Matching APIs, best first, with their parameters.",
        "matches": "How many matched before the limit.",
    },
)
def search_api_docs(state: State, query: str, limit: int = 6) -> Json:
    """Searches the API documentation of all apps by words and returns the best matching APIs in overview."""
    words = query.lower().replace("_", " ").split()
    scored = [(sum(_text(found).count(word) for word in words), name) for name, found in TOOLS.items()]
    ranked = sorted((-score, name) for score, name in scored if score)
    apis = [_overview(TOOLS[name]) for _, name in ranked[: max(limit, 0)]]
    return {"query": query, "matches": len(ranked), "apis": apis}


@tool(
    "api_docs",
    args={"api_name": "Name of the API, exactly as the search shows it."},
    returns={
        "api_name": "The API.",
        "parameters": "One entry a parameter.",
        "response_schemas": "Success and failure.",
    },
    errors=("unknown_tool",),
)
def show_api_doc(state: State, api_name: str) -> Json:
    """Shows the complete documentation of one API: parameters, response schemas, errors and notes on usage."""
    found = TOOLS.get(api_name)
    if found is None:
        raise ToolError("unknown_tool", f"there is no API named {api_name!r}")
    changing = not found.name.startswith(("show_", "list_", "search_", "read_", "calculator"))
    notes = [
        "Dates are written YYYY-MM-DD, times YYYY-MM-DDTHH:MM:SS in the user's own time zone.",
        "Amounts are in US dollars with at most two decimals; they are rounded to whole cents before they are used.",
        "Ids are opaque strings. They are case-sensitive and must be copied exactly from an earlier response.",
        "This API changes the user's data and is not idempotent: calling it twice acts twice."
        if changing
        else "This API only reads. It may be called any number of times with the same result.",
    ]
    return {
        "app_name": found.app,
        "api_name": found.name,
        "path": f"/{found.app}/{found.name}",
        "method": "POST" if changing else "GET",
        "description": found.description,
        "parameters": _parameters(found),
        "response_schemas": {"success": found.returns, "failure": {"error": {"code": "string", "message": "string"}}},
        "errors": [{"code": code, "meaning": ERRORS[code]} for code in found.errors],
        "usage_notes": notes,
    }


def _text(found: Tool) -> str:
    return f"{found.app} {found.name} {found.description}".lower().replace("_", " ")


def _parameters(found: Tool) -> list[Json]:
    required = found.parameters["required"]
    return [
        {
            "name": name,
            "type": schema["type"],
            "required": name in required,
            "description": schema["description"],
            "default": schema.get("default"),
        }
        for name, schema in found.parameters["properties"].items()
    ]


def _overview(found: Tool) -> Json:
    return {
        "app_name": found.app,
        "api_name": found.name,
        "description": found.description,
        "parameters": _parameters(found),
    }
