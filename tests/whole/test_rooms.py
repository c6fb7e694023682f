# SPDX-License-Identifier: Apache-2.0
"""The map in `forensics/__init__.py` is the order that the linter holds, and every room names all of its modules."""

from __future__ import annotations

import re
import sys
import tomllib

import pytest
from places import ROOT

import forensics

PACKAGE = ROOT / "forensics"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LINTER = PROJECT["tool"]["importlinter"]
ROOMS = [p.parent for p in sorted(PACKAGE.rglob("__init__.py")) if p.parent != PACKAGE]


def test_the_map_is_the_order_that_is_held():
    held = [layer for layer in reversed(LINTER["contracts"][0]["layers"]) if layer != "__main__"]
    assert re.findall(r"^    (\w+)  ", forensics.__doc__, re.MULTILINE) == held


def test_every_module_at_the_top_is_on_the_map():
    there = {p.stem for p in PACKAGE.glob("*.py")} | {p.parent.name for p in PACKAGE.glob("*/__init__.py")}
    assert there - set(re.findall(r"\w+", forensics.__doc__)) <= {"__init__", "__main__"}


def test_no_module_is_called_as_one_of_the_standard_library():
    assert sorted(p.relative_to(ROOT).as_posix() for p in PACKAGE.rglob("*.py") if p.stem in sys.stdlib_module_names) == []


@pytest.mark.parametrize("room", ROOMS, ids=lambda p: p.relative_to(PACKAGE).as_posix())
def test_a_room_names_its_modules(room):
    text = (room / "__init__.py").read_text(encoding="utf-8")
    listed = {name for names in re.findall(r"^    (\w+(?:, \w+)*)  ", text, re.MULTILINE) for name in names.split(", ")}
    there = {p.stem for p in room.glob("*.py")} | {p.parent.name for p in room.glob("*/__init__.py")}
    if listed:
        assert listed == there - {"__init__"}


def test_every_package_is_in_the_wheel():
    packages = {".".join(path.parent.relative_to(ROOT).parts) for path in (ROOT / "forensics").rglob("__init__.py")}
    assert packages | set(PROJECT["tool"]["setuptools"]["package-dir"]) == set(PROJECT["tool"]["setuptools"]["packages"])
