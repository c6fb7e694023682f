"""Compare what a file of a case states about its content with its bytes on the disk, before anything in it is read.

A case may come from someone else. A few kilobytes of Parquet can state billions of values, or one long text in each of a million rows; reading them takes all
memory. What this program writes stays far below each limit: at most 10 values and 10 bytes of content in each byte of a file.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from forensics.evidence.objects import opened

#: Sizes from which on a file is examined, and then at most this multiple of what it uses on the disk.
_MUCH_BYTES, _MOST_HOLES = 16 << 20, 8
#: From this number of rows on, at most this many in a byte: rows have IDs, which do not repeat.
_MANY_ROWS, _MOST_ROWS_PER_BYTE = 5_000_000, 4
#: The same for values of all columns, for bytes of content as stored, and for bytes of text once each row has its own.
_MANY_VALUES, _MOST_VALUES_PER_BYTE = 50_000_000, 100
_MUCH_CONTENT, _MOST_CONTENT_PER_BYTE = 256 << 20, 100
_MUCH_TEXT, _MOST_TEXT_PER_BYTE = 1 << 30, 500
#: The last bytes of a Parquet file: the length of its description, and a mark. A description has about 100 bytes per column and group of rows.
_END, _LONGEST_DESCRIPTION = 8, 32 << 20


def overstated(file: Path) -> str:
    """Return why a file would take much more memory or time than its bytes on the disk, as a predicate; an empty string if it would not.

    Args:
        file: a regular file of a case.
    """
    about = file.lstat()
    size = about.st_size
    used = getattr(about, "st_blocks", size) * 512
    if size > _MUCH_BYTES and used < size // _MOST_HOLES:
        return f"is mostly holes: it has {size:,} bytes, {used:,} of them on the disk"
    return _overstated_rows(file, size) if file.suffix == ".parquet" else ""


def _overstated_rows(file: Path, size: int) -> str:
    with opened(file, links=False) as content:
        content.seek(max(0, size - _END))
        described = int.from_bytes(content.read(_END)[:4], "little")
        if described > _LONGEST_DESCRIPTION:
            return f"has a description of {described:,} bytes, more than a case has"
        content.seek(0)
        stated = pq.read_metadata(content)
    groups = [stated.row_group(n) for n in range(stated.num_row_groups)]
    values = sum(group.column(n).num_values for group in groups for n in range(group.num_columns))
    for number, most, what in (
        (stated.num_rows, max(_MANY_ROWS, _MOST_ROWS_PER_BYTE * size), "rows"),
        (max(values, stated.num_rows * stated.num_columns), max(_MANY_VALUES, _MOST_VALUES_PER_BYTE * size), "values"),
        (sum(group.total_byte_size for group in groups), max(_MUCH_CONTENT, _MOST_CONTENT_PER_BYTE * size), "bytes of content"),
    ):
        if number > most:
            return f"has {number:,} {what} in {size:,} bytes, more than a case has"
    most = max(_MUCH_TEXT, _MOST_TEXT_PER_BYTE * size)
    if _text(file, stated, most) > most:
        return f"has more than {most:,} bytes of text in {size:,} bytes, more than a case has"
    return ""


def _text(file: Path, stated: pq.FileMetaData, most: int) -> int:
    """Return how long the texts of a file are once each value has its own, or at most are, as soon as that is within a limit.

    A text that many rows have is stored once, in a dictionary of its column. It is read once, so this takes no more memory than what the file stores.
    """
    chunks = [(group, column) for group in range(stated.num_row_groups) for column in range(stated.num_columns)]
    chunks = [at for at in chunks if stated.row_group(at[0]).column(at[1]).physical_type == "BYTE_ARRAY"]
    abouts = {at: stated.row_group(at[0]).column(at[1]) for at in chunks}
    # Each value may be all that its column stores.
    limits = {at: int(about.num_values * about.total_uncompressed_size) for at, about in abouts.items()}
    total = sum(limits.values())
    if total <= most:
        return total
    with pq.ParquetFile(file, read_dictionary=sorted({about.path_in_schema for about in abouts.values()})) as opened_file:

        def longest(at: tuple[int, int]) -> int:
            """Return the limit by the longest text of the dictionary, which comes before the values, and what is stored without it."""
            about = abouts[at]
            first = next(opened_file.iter_batches(1, row_groups=[at[0]], columns=[about.path_in_schema]), None)
            of_each = max(map(_longest, first.columns), default=0) if first else 0
            return int(about.num_values * of_each + about.total_uncompressed_size)

        def exactly(at: tuple[int, int]) -> int:
            batches = opened_file.iter_batches(row_groups=[at[0]], columns=[abouts[at].path_in_schema])
            return sum(int(_text_in(column)) for batch in batches for column in batch.columns)

        for better in (longest, exactly):
            for at in sorted(chunks, key=limits.__getitem__, reverse=True):
                before, limits[at] = limits[at], min(limits[at], better(at))
                total -= before - limits[at]
                if total <= most:
                    return total
    return total


def _longest(array: pa.Array) -> int:
    """Return the length of the longest text of an array, or of its dictionary."""
    return max((pc.max(pc.binary_length(part.dictionary)).as_py() or 0 for part in _parts(array) if pa.types.is_dictionary(part.type)), default=0)


def _text_in(array: pa.Array) -> int:
    """Return how many bytes the texts of an array have once each value has its own."""
    parts = list(_parts(array))
    texts = [pc.sum(pc.binary_length(part.dictionary).take(part.indices)).as_py() or 0 for part in parts if pa.types.is_dictionary(part.type)]
    return int(sum(texts)) + sum(int(part.nbytes) for part in parts if not pa.types.is_dictionary(part.type))


def _parts(array: pa.Array) -> Iterator[pa.Array]:
    """Yield the arrays of values in an array of lists, maps or structs; otherwise the array itself."""
    if pa.types.is_map(array.type):
        inner = [array.keys, array.items]
    elif pa.types.is_list(array.type) or pa.types.is_large_list(array.type):
        inner = [array.flatten()]
    elif pa.types.is_struct(array.type):
        inner = array.flatten()
    else:
        yield array
        return
    for part in inner:
        yield from _parts(part)
