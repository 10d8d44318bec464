"""What y is and how it is scored: one class for each kind of response, each in a file of its own.

A `Response` alone knows how y is encoded, which loss a network has, what a model without features predicts, what a model
leaves unexplained and how people are told of it. The rest of the package asks it and never looks at the name of a task.
A new kind is one subclass and one entry of `recognition.KINDS`; one of your own is made known by `register`.
"""

from grip2.responses.base import Response, share_explained
from grip2.responses.classes import SeveralClasses, TwoClasses
from grip2.responses.counts import Counts
from grip2.responses.given import rows_of, times_and_events
from grip2.responses.measurement import Measurement
from grip2.responses.ordered import OrderedClasses
from grip2.responses.recognition import KINDS, check_varies, register, response_from, tasks
from grip2.responses.survival import Survival

__all__ = [
    "KINDS",
    "Counts",
    "Measurement",
    "OrderedClasses",
    "Response",
    "SeveralClasses",
    "Survival",
    "TwoClasses",
    "check_varies",
    "register",
    "response_from",
    "rows_of",
    "share_explained",
    "tasks",
    "times_and_events",
]
