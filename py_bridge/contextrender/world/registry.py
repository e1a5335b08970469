"""What a tool is: a typed Python function over the state, with a JSON schema made from its signature.

    @tool("wallet", args={"amount": "Dollars."}, returns={"transaction_id": "Id of the payment."}, errors=("…",))
    def send_payment(state: State, receiver_email: str, amount: float) -> Json: …

`execute` runs a call as a model writes it (a name and JSON text) and always returns JSON text: what the tool returned,
or an error the model can read.
"""

import inspect
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from contextrender.world.state import State

type Json = dict[str, Any]
type Function = Callable[..., Json]

ERRORS = {
    "unknown_id": "No object of this user has the given id. List the objects first and copy the id exactly.",
    "unknown_account": "No wallet account belongs to the given e-mail address. Look the address up in the contacts.",
    "insufficient_balance": "The wallet balance does not cover the amount. Add funds from the bank, then retry.",
    "malformed_argument": "An argument is missing, unknown, of the wrong type, or not in the documented format.",
    "not_found": "The file or folder does not exist. List the parent folder to see what does.",
    "already_exists": "The file exists and overwrite was not set to true. Nothing was written.",
    "already_done": "The object is already in the requested state. Nothing was changed.",
    "wrong_reference": "The payment reference is not the one printed on the bill. Open the bill and copy it exactly.",
    "unknown_tool": "There is no tool of this name. Search the API documentation.",
}
_JSON_TYPES: dict[Any, Json] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    list[str]: {"type": "array", "items": {"type": "string"}},
}


class ToolError(Exception):
    """A tool refuses; becomes a tool result. `code` is a key of ERRORS."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code, self.message = code, message


@dataclass(frozen=True)
class Tool:
    """A tool and its documentation; `parameters` is a JSON schema."""

    name: str
    app: str
    description: str
    parameters: Json
    returns: dict[str, str]
    errors: tuple[str, ...]
    function: Function

    def definition(self) -> Json:
        """The tool as chat completions want it."""
        function = {"name": self.name, "description": self.description, "parameters": self.parameters}
        return {"type": "function", "function": function}


TOOLS: dict[str, Tool] = {}
"""Every tool by name; filled as the modules of `apps` are imported."""


def tool(
    app: str, args: dict[str, str] | None = None, returns: dict[str, str] | None = None, errors: tuple[str, ...] = ()
) -> Callable[[Function], Function]:
    """Registers a function as a tool of `app`. Its docstring is the description, its signature the schema."""

    def register(function: Function) -> Function:
        properties: dict[str, Json] = {}
        required = []
        for name, parameter in list(inspect.signature(function).parameters.items())[1:]:
            properties[name] = {**_JSON_TYPES[parameter.annotation], "description": (args or {}).get(name, "")}
            if parameter.default is inspect.Parameter.empty:
                required.append(name)
            else:
                properties[name]["default"] = parameter.default
        schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
        description = " ".join((function.__doc__ or "").split())
        name = function.__name__
        TOOLS[name] = Tool(name, app, description, schema, returns or {}, (*errors, "malformed_argument"), function)
        return function

    return register


def execute(state: State, name: str, arguments: str) -> str:
    """Runs one tool call on the state (which it may change) and returns the result's text, errors included."""
    try:
        found = TOOLS.get(name)
        if found is None:
            raise ToolError("unknown_tool", f"there is no tool named {name!r}")
        result = found.function(state, **_checked(found, arguments))
    except ToolError as error:
        detail = {"code": error.code, "message": error.message, "tool": name, "hint": ERRORS[error.code]}
        result = {"error": detail}
    return json.dumps(result, ensure_ascii=False)


def _checked(found: Tool, arguments: str) -> Json:
    try:
        given = json.loads(arguments)
    except ValueError as error:
        raise ToolError("malformed_argument", f"the arguments are not JSON: {error}") from error
    if not isinstance(given, dict):
        raise ToolError("malformed_argument", "the arguments must be a JSON object")
    properties = found.parameters["properties"]
    for name in found.parameters["required"]:
        if name not in given:
            raise ToolError("malformed_argument", f"argument {name!r} is missing")
    for name, value in given.items():
        if name not in properties:
            raise ToolError("malformed_argument", f"unknown argument {name!r}; known: {', '.join(properties)}")
        wanted = properties[name]["type"]
        if not _fits(value, wanted):
            raise ToolError("malformed_argument", f"argument {name!r} must be of type {wanted}, not {value!r}")
    return given


def _fits(value: object, wanted: str) -> bool:
    match wanted:
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case _:
            return isinstance(value, list) and all(isinstance(item, str) for item in value)
