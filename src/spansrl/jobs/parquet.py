"""Parquet in and out; needs the extra `corpus`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, BinaryIO, cast

from spansrl.checks import Json
from spansrl.errors import MissingExtraError
from spansrl.jobs.rows import COLUMNS, Rows

try:
    import pyarrow as pa
    import pyarrow.parquet as pq
except ImportError as error:
    raise MissingExtraError("Parquet", "corpus") from error

BATCH_BYTES = 1 << 24  # of rows that are read at once
_TYPES = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}


def schema_of(columns: Mapping[str, Any]) -> Any:
    """The Arrow schema of columns with the types that `rows` has."""
    return pa.schema([(name, _arrow(kind)) for name, kind in columns.items()])


def _arrow(kind: Any) -> Any:
    if isinstance(kind, dict):
        return pa.struct([(name, _arrow(own)) for name, own in kind.items()])
    return pa.list_(_arrow(kind[0])) if isinstance(kind, list) else _TYPES[kind]


SCHEMAS = {kind: schema_of(columns) for kind, columns in COLUMNS.items()}


def write_rows(stream: BinaryIO, rows: Sequence[Json], kind: Rows) -> None:
    table = pa.Table.from_pylist(list(rows), schema=SCHEMAS[kind])
    pq.write_table(table, stream, compression="zstd")


def write_groups(stream: BinaryIO, groups: Iterable[Sequence[Json]], schema: Any) -> None:
    """Write groups of rows as they come, so that memory does not grow with their number."""
    with pq.ParquetWriter(stream, schema) as writer:
        for rows in groups:
            writer.write_table(pa.Table.from_pylist(list(rows), schema=schema))


def column_names(file: BinaryIO) -> list[str]:
    """Return the names of a file's columns; raises OSError for a file that is not Parquet."""
    try:
        return cast(list[str], pq.read_schema(file).names)
    except pa.ArrowException as error:
        raise OSError(0, f"not a Parquet file ({error})") from error


def read_values(source: BinaryIO, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """Yield the values of each row; raises OSError for damaged files.

    Rows are read in batches of about BATCH_BYTES, so memory is that of a group's compressed columns.
    """
    try:
        file = pq.ParquetFile(source)
        for group in range(file.num_row_groups):
            facts = file.metadata.row_group(group)
            size = max(1, min(1024, BATCH_BYTES * facts.num_rows // max(1, facts.total_byte_size)))
            for batch in file.iter_batches(size, row_groups=[group], columns=list(columns)):
                yield from zip(*(_values(batch[column]) for column in columns), strict=True)
    except pa.ArrowException as error:
        raise OSError(0, f"damaged ({error})") from error


def _values(column: Any) -> list[Any]:
    """Return the values of a column; strings that are not UTF-8 as bytes."""
    try:
        return cast(list[Any], column.to_pylist())
    except UnicodeDecodeError:
        return cast(list[Any], column.cast("large_binary").to_pylist())
