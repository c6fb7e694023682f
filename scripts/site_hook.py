"""Extend mkdocs.yml: add pages that are not in docs/ (the notebook, the samples' own pages), and convert links that lead out of docs/."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parent.parent
_SAMPLE = re.compile(r"\]\((?:\.\./)?sample_logs/([^/)]+)/README\.md")


def on_files(files: Files, config: Any) -> Files:  # noqa: ANN401 (mkdocs' own mapping)
    """Add the generated pages."""
    made = {f"samples/{page.parent.name}.md": page.read_text(encoding="utf-8") for page in sorted((ROOT / "sample_logs").glob("*/README.md"))}
    made["python.md"] = notebook(ROOT / "docs" / "notebook.ipynb")
    for name, text in made.items():
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:  # noqa: ANN401
    """Change links to the pages' locations in the site."""
    if page.file.src_uri.startswith("samples/"):
        return markdown.replace("](../../docs/", "](../").replace("](../../README.md", "](../index.md")
    return _SAMPLE.sub(r"](samples/\1.md", markdown).replace("](notebook.ipynb", "](python.md").replace("](../README.md", "](index.md")


def notebook(path: Path) -> str:
    """Return a notebook as Markdown, with the outputs of its cells."""
    parts = []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
        for output in cell.get("outputs", ()):
            shown = "".join(output.get("text") or output["data"]["text/plain"]).rstrip("\n")
            parts.append(f"```text\n{shown}\n```")
    return "\n\n".join(parts) + "\n"
