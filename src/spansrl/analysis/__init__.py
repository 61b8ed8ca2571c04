"""The paper's analysis (its Section 5) for any predictions and, where there is one, the model behind them.

    >>> from spansrl.analysis import Inputs, build_sections, make_system, write_report      # doctest: +SKIP
    >>> inputs = Inputs(gold, [make_system("span", gold, predicted)])                       # doctest: +SKIP
    >>> write_report(Path("report"), "EWT", {}, build_sections(inputs))                     # doctest: +SKIP

`sections` lists the sections, each with its own module; `tables` and `charts` are their parts, `page` and
`writing` the files. Only `representations` needs torch, and only `charts.render` needs matplotlib.
"""

from spansrl.analysis.inputs import Inputs, Settings, System, make_system
from spansrl.analysis.sections import SECTIONS, build_sections
from spansrl.analysis.tables import Section, Table
from spansrl.analysis.writing import write_report

__all__ = [
    "SECTIONS",
    "Inputs",
    "Section",
    "Settings",
    "System",
    "Table",
    "build_sections",
    "make_system",
    "write_report",
]
