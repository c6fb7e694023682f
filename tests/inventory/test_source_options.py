# SPDX-License-Identifier: Apache-2.0
"""The user's options for files: which files a glob names."""

from forensics.inventory.source_options import SourceOptions


def test_a_folder_names_the_files_in_it() -> None:
    """Reports print `--time-zone w2=ZONE` for a process that is named by its folder."""
    options = SourceOptions.parse(time_zones=["w2=+02:00"])
    zones = [options.time_zone(path, f"/logs/{path}") for path in ("w2/connect.log", "w2/old/connect.log.1", "w2", "w21/connect.log", "w1/w2.log")]
    assert zones == ["+02:00", "+02:00", "+02:00", None, None]
