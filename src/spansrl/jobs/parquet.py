"""Parquet in and out; needs the extra `corpus`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO, cast

from spansrl.checks import Json
from spansrl.errors import MissingExtraError
from spansrl.jobs.rows import ARGUMENT_COLUMNS, Rows

try:
    import pyarrow as pa
    import pyarrow.parquet as pq
except ImportError as error:
    raise MissingExtraError("Parquet", "corpus") from error

_TEXT, _WHOLE, _REAL = pa.string(), pa.int64(), pa.float64()
_TYPES = {str: _TEXT, int: _WHOLE, float: _REAL}
_PAIRS = pa.list_(pa.list_(_WHOLE))
_ARG = pa.struct([("role", _TEXT), ("start", _WHOLE), ("end", _WHOLE), ("prob", _REAL), ("meaning", _TEXT)])
_PROP = pa.struct(
    [
        ("pred", _WHOLE),
        ("lemma", _TEXT),
        ("sense", _TEXT),
        ("v", _PAIRS),
        ("type", _TEXT),
        ("prob", _REAL),
        ("sense_prob", _REAL),
        ("args", pa.list_(_ARG)),
    ]
)
_SENTENCE = [
    ("id", _TEXT),
    ("sentence", _WHOLE),
    ("tokens", pa.list_(_TEXT)),
    ("text", _TEXT),
    ("offsets", _PAIRS),
    ("char_start", _WHOLE),
    ("props", pa.list_(_PROP)),
]
SCHEMAS = {
    "argument": pa.schema([(name, _TYPES[type]) for name, type in ARGUMENT_COLUMNS.items()]),
    "sentence": pa.schema(_SENTENCE),
}


def write_rows(stream: BinaryIO, rows: Sequence[Json], kind: Rows) -> None:
    """Write rows with the schema of their kind."""
    table = pa.Table.from_pylist(list(rows), schema=SCHEMAS[kind])
    pq.write_table(table, stream, compression="zstd")


def column_names(path: str) -> list[str]:
    """Return the names of a file's columns; raises OSError for a file that is not Parquet."""
    try:
        return cast(list[str], pq.read_schema(path).names)
    except pa.ArrowException as error:
        raise OSError(0, f"not a Parquet file ({error})") from error


def read_values(path: str, columns: Sequence[str], start: int) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """Yield number and values of each row from `start` on; raises OSError for damaged files."""
    number = 0
    try:
        with pq.ParquetFile(path) as file:
            for group in range(file.num_row_groups):
                size = file.metadata.row_group(group).num_rows
                if number + size <= start:
                    number += size
                    continue
                for batch in file.iter_batches(1024, row_groups=[group], columns=list(columns)):
                    for values in zip(*(_values(batch[column]) for column in columns), strict=True):
                        if number >= start:
                            yield number, values
                        number += 1
    except pa.ArrowException as error:
        raise OSError(0, f"damaged ({error})") from error


def _values(column: Any) -> list[Any]:
    """Return the values of a column; strings that are not UTF-8 as bytes."""
    try:
        return cast(list[Any], column.to_pylist())
    except UnicodeDecodeError:
        return cast(list[Any], column.cast("large_binary").to_pylist())
