"""Tables from Parquet: how much there is comes from the footer, before anything is read.

A few megabytes can hold billions of equal rows. So no more rows are read than are wanted, batch by
batch, and texts stay a dictionary until it is known how much room they need.
"""

from __future__ import annotations

from typing import Any

import pandas as pd

from posteriori.numerics.record_files import MOST_BYTES

__all__ = ["read_parquet"]

#: Rows that are read at a time.
_BATCH = 1 << 16

#: Bytes of a number, and of a reference to a text.
_CELL = 8


def read_parquet(source: Any, name: str, max_rows: int | None) -> pd.DataFrame:
    """Read a table.

    Parameters
    ----------
    source : path, or file of bytes
    name : str
        What messages call it.
    max_rows : int, optional

    Raises
    ------
    ValueError
        When the file is broken, holds more than can be read, or pyarrow is missing.
    """
    try:
        import pyarrow as arrow
        from pyarrow import compute, parquet
    except ImportError:
        raise ValueError(
            f"{name} is a Parquet file; reading it needs pyarrow: pip install 'posteriori[parquet]'"
        ) from None
    try:
        with parquet.ParquetFile(source) as file:
            schema, rows = file.schema_arrow, file.metadata.num_rows
            texts = [f.name for f in schema if _is_text(arrow, f.type)]
        wanted = rows if max_rows is None else min(rows, max_rows)
        _require_room(name, wanted * len(schema) * _CELL)
        with parquet.ParquetFile(source, read_dictionary=texts) as file:
            parts, left, size = [], wanted, 0
            for batch in file.iter_batches(batch_size=min(_BATCH, max(wanted, 1))):
                part = batch.slice(0, left)
                size += sum(_room(arrow, compute, column) for column in part.columns)
                _require_room(name, size)
                parts.append(part)
                left -= len(part)
                if not left:
                    break
        table = arrow.Table.from_batches([_decoded(arrow, part, schema) for part in parts], schema)
        table.validate(full=True)  # texts may be no UTF-8
        return table.to_pandas()
    except _TooLargeError as error:
        raise ValueError(str(error)) from None
    except Exception as error:  # pyarrow has many; all mean that the file is broken
        raise ValueError(f"{name} is a broken Parquet file: {error}") from None


class _TooLargeError(ValueError):
    """More than may be read."""


def _require_room(name: str, size: int) -> None:
    if size > MOST_BYTES:
        raise _TooLargeError(
            f"{name} holds more than {MOST_BYTES >> 30} GB; read a part of it with --max-rows "
            "(max_rows=)"
        )


def _is_text(arrow: Any, kind: Any) -> bool:
    types = arrow.types
    return bool(
        types.is_string(kind)
        or types.is_large_string(kind)
        or types.is_binary(kind)
        or types.is_large_binary(kind)
    )


def _room(arrow: Any, compute: Any, column: Any) -> int:
    """Return the bytes of a column's entries, each counted by itself."""
    if not arrow.types.is_dictionary(column.type) or not _is_text(arrow, column.type.value_type):
        return int(column.nbytes)
    lengths = compute.binary_length(column.dictionary)
    total = compute.sum(lengths.cast(arrow.int64()).take(column.indices)).as_py()
    return _CELL * len(column) + (total or 0)


def _decoded(arrow: Any, batch: Any, schema: Any) -> Any:
    """Return a batch with texts in the place of their dictionaries."""
    columns = [
        column.cast(field.type) if arrow.types.is_dictionary(column.type) else column
        for column, field in zip(batch.columns, schema, strict=True)
    ]
    return arrow.RecordBatch.from_arrays(columns, schema=schema)
