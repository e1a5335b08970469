"""A tiny file system: text files by absolute path; folders exist as far as files are in them."""

import ast
import operator
from collections.abc import Callable

from contextrender.world.registry import Json, ToolError, tool
from contextrender.world.state import State


@tool(
    "files",
    args={"folder": "Absolute path of a folder, such as /notes."},
    returns={"folder": "The folder.", "files": "Path, size in characters and number of lines of each file below it."},
    errors=("not_found",),
)
def list_files(state: State, folder: str) -> Json:
    """Lists the files in a folder of the user's file system and in its sub-folders, in alphabetical order."""
    start = _checked_path(folder).rstrip("/") + "/"
    paths = sorted(path for path in state.files if path.startswith(start))
    if not paths:
        raise ToolError("not_found", f"there is no folder {folder!r}")
    files = [
        {"path": path, "characters": len(state.files[path]), "lines": state.files[path].count("\n"), "type": "text"}
        for path in paths
    ]
    return {"folder": folder, "total": len(files), "files": files}


@tool(
    "files",
    args={"path": "Absolute path of the file."},
    returns={"path": "The file.", "content": "Its complete text."},
    errors=("not_found",),
)
def read_file(state: State, path: str) -> Json:
    """Reads a text file of the user's file system and returns its complete content."""
    content = state.files.get(_checked_path(path))
    if content is None:
        raise ToolError("not_found", f"there is no file {path!r}")
    return {"path": path, "characters": len(content), "content": content}


@tool(
    "files",
    args={"path": "Absolute path of the file.", "content": "The complete new text.", "overwrite": "Replace a file."},
    returns={"path": "The file written.", "characters": "Its new length."},
    errors=("already_exists",),
)
def write_file(state: State, path: str, content: str, overwrite: bool = False) -> Json:
    """Writes a text file to the user's file system; replaces an existing file only if overwrite is true."""
    if _checked_path(path) in state.files and not overwrite:
        raise ToolError("already_exists", f"{path!r} exists and overwrite is false")
    state.files[path] = content
    return {"message": "File written.", "path": path, "characters": len(content), "modified_at": state.tick()}


def _checked_path(path: str) -> str:
    if not path.startswith("/") or ".." in path.split("/"):
        raise ToolError("malformed_argument", f"{path!r} is not an absolute path")
    return path


_OPERATORS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


@tool(
    "calculator",
    args={"expression": "Numbers, + - * / and brackets.", "label": "What the result is, repeated in the response."},
    returns={"label": "The label given.", "result": "The value, rounded to two decimals."},
)
def calculator(state: State, expression: str, label: str = "") -> Json:
    """Evaluates an arithmetic expression exactly as written and returns its value rounded to two decimals."""
    try:
        value = _value(ast.parse(expression, mode="eval").body)
    except (SyntaxError, ValueError, ZeroDivisionError, OverflowError, RecursionError) as error:
        raise ToolError("malformed_argument", f"cannot evaluate {expression!r}: {error}") from error
    return {"label": label, "expression": expression, "result": round(value, 2)}


def _value(node: ast.expr) -> float:
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return number
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](_value(left), _value(right))
        case _:
            raise ValueError("only numbers, + - * / and brackets are understood")
