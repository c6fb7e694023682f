"""Run docs/notebook.ipynb and write the outputs of its cells into it.

python scripts/make_notebook.py        # or: make notebook

Cells run in order, in one namespace, in the repository's folder. As in Jupyter, a cell's output is what it prints and the value of its last
expression; a pandas frame is kept as HTML and as text. Jupyter is not needed.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOK = ROOT / "docs" / "notebook.ipynb"


def executed(notebook: dict[str, Any]) -> dict[str, Any]:
    """Return the notebook with the outputs of its cells.

    Raises:
        Exception: any exception of a cell.
    """
    names: dict[str, Any] = {"__name__": "__main__"}
    cells, number = [], 0
    with contextlib.chdir(ROOT):
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                number += 1
                cell = cell | {"execution_count": number, "outputs": _run("".join(cell["source"]), number, names)}
            cells.append(cell)
    return notebook | {"cells": cells}


def _run(source: str, number: int, names: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a cell's outputs."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, f"cell {number}", "exec"), names)  # noqa: S102 (it is what a notebook is)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), names)  # noqa: S307
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": _lines(printed.getvalue())})
    if value is not None:
        data = {"text/plain": _lines(repr(value))}
        if hasattr(value, "_repr_html_"):
            data = {"text/html": _lines(value._repr_html_()), **data}
        outputs.append({"data": data, "execution_count": number, "metadata": {}, "output_type": "execute_result"})
    return outputs


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def main() -> None:
    """Write the notebook."""
    given = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    NOTEBOOK.write_text(json.dumps(executed(given), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(NOTEBOOK.relative_to(ROOT))


if __name__ == "__main__":
    main()
