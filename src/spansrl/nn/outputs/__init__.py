"""Output layers: each is one file, and one line in this table."""

from spansrl.nn.outputs.crf import CrfOutput
from spansrl.nn.outputs.label import LabelOutput
from spansrl.nn.outputs.output_base import Output as Output
from spansrl.nn.outputs.segmental import SegmentalOutput
from spansrl.nn.outputs.softmax import SoftmaxOutput
from spansrl.nn.outputs.span import SpanOutput

# output.kind -> layer; the scores of each kind are in `spansrl.decoding.SCORES`.
OUTPUTS: dict[str, type[Output]] = {
    "span": SpanOutput,
    "segmental": SegmentalOutput,
    "label": LabelOutput,
    "crf": CrfOutput,
    "softmax": SoftmaxOutput,
}
