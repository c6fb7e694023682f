"""Pack columns into one text for the page: numbers as arrays, the rest as JSON, all of it compressed.

`assets/unpack.js` reads it. It cannot end the element that contains it, because base64 has no angle brackets.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from forensics.wording.formats import printable_texts

if TYPE_CHECKING:
    import numpy as np

_KINDS = {"int32": "Int32Array", "uint8": "Uint8Array"}
#: Milliseconds of a long case need more than 32 bits: they are split into two columns, above and below this power of two.
_HALF = 30
_ALIGNED = 4


def pack(arrays: Mapping[str, np.ndarray[Any, Any]], plain: Mapping[str, Any]) -> str:
    """Return the text: base64 of the compressed header length, header and arrays. Invisible characters of texts are escapes.

    Args:
        arrays: columns of int64, int32 or uint8, by name.
        plain: JSON values, by name.
    """
    import numpy as np

    body, places = bytearray(), {}
    for name, array in arrays.items():
        body += b"\0" * (-len(body) % _ALIGNED)
        wide = array.dtype == np.int64
        places[name] = ("wide" if wide else _KINDS[array.dtype.name], len(body), len(array))
        for part in (array >> _HALF, array & ((1 << _HALF) - 1)) if wide else (array,):
            part = part.astype(np.int32) if wide else part
            body += part.astype(part.dtype.newbyteorder("<"), copy=False).tobytes()
    header = json.dumps({"arrays": places, "plain": printable_texts(plain)}, separators=(",", ":"), allow_nan=False).encode()
    header += b" " * (-len(header) % _ALIGNED)
    whole = len(header).to_bytes(8, "little") + header + bytes(body)
    return base64.b64encode(gzip.compress(whole, 6, mtime=0)).decode()
