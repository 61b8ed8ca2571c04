"""Statements as rows, data frames and graphs: networkx, and CSV files that Neo4j imports."""

from __future__ import annotations

import csv
import importlib
import io
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spansrl.checks import Json
from spansrl.errors import MissingExtraError
from spansrl.formats.text_files import open_outputs
from spansrl.statements.values import STATEMENT_COLUMNS, Statement
from spansrl.structures import data_frame

if TYPE_CHECKING:
    import pandas

_COLUMNS = ("label", "negated", "denied_by", "modal", "context", "time", "place", "sentence", "prob")


class Statements(tuple[Statement, ...]):
    """Statements in the order of their predicates; a tuple that can become rows, a data frame or a graph."""

    __slots__ = ()

    def __str__(self) -> str:
        return "\n".join(map(str, self))

    def rows(self) -> list[Json]:
        return [statement.row() for statement in self]

    def to_pandas(self) -> pandas.DataFrame:
        """The rows as a pandas DataFrame, with the same types of columns whatever the text."""
        return data_frame(self.rows(), STATEMENT_COLUMNS)

    def to_networkx(self) -> Any:
        """The statements as a networkx.MultiDiGraph: subjects and objects are nodes, relations are edges."""
        return graph_of(self)

    def to_neo4j(self, folder: str | Path) -> None:
        """Write nodes.csv and relationships.csv for Neo4j's import into a folder."""
        write_neo4j(self, folder)


def graph_of(statements: Iterable[Statement]) -> Any:
    """A networkx.MultiDiGraph with an edge for each statement that has a subject and an object.

    Nodes are names of parts: what a pronoun refers to, or the short form. An edge's `label` is the relation.
    """
    try:
        graph = importlib.import_module("networkx").MultiDiGraph()
    except ImportError as error:
        raise MissingExtraError("to_networkx()", "graph") from error
    for source, target, edge in _edges(statements):
        graph.add_edge(source, target, **edge)
    return graph


def write_neo4j(statements: Iterable[Statement], folder: str | Path) -> None:
    """Write nodes.csv and relationships.csv, which `neo4j-admin database import full` reads."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    names: dict[str, None] = {}
    with open_outputs(Path(folder), ["nodes.csv", "relationships.csv"]) as (nodes, relationships):
        relationships.write(_line([":START_ID", ":END_ID", ":TYPE", *_COLUMNS]))
        for source, target, edge in _edges(statements):
            names |= {source: None, target: None}
            cells = [str(edge[name]).lower() if name == "negated" else edge[name] for name in _COLUMNS]
            relationships.write(_line([source, target, "STATEMENT", *cells]))
        nodes.write(_line([":ID", "name", ":LABEL"]))
        nodes.writelines(_line([name, name, "Entity"]) for name in names)


def _edges(statements: Iterable[Statement]) -> Iterator[tuple[str, str, Json]]:
    for one in statements:
        if one.subject is not None and one.object is not None:
            row = one.row() | {"label": one.relation}
            yield one.subject.name, one.object.name, {name: row[name] for name in _COLUMNS}


def _line(cells: Iterable[Any]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(cells)
    return text.getvalue().encode()
