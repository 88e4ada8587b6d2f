"""The contract tests of back ends, also for authors of plug-ins.

    from ragmem.testing import StoreContract

    class TestMyStore(StoreContract):
        def open_store(self, database):
            return my_backend.open_store({}, my_models, database=database)

pytest collects the subclass; this package itself does not need pytest. StoreContract is for stores,
NativeModesContract for those with LightRAG's modes, TwoModelsContract for those with vectors of two models.
ModelsContract is for embedders, LanguageModelContract for language models.
"""

from ragmem.testing.language_models import LanguageModelContract, RecordingMeter
from ragmem.testing.models import ModelsContract
from ragmem.testing.stores import EPOCH, ROUNDING, NativeModesContract, StoreContract, make_record
from ragmem.testing.two_models import TwoModelsContract

__all__ = [
    "EPOCH",
    "ROUNDING",
    "LanguageModelContract",
    "ModelsContract",
    "NativeModesContract",
    "RecordingMeter",
    "StoreContract",
    "TwoModelsContract",
    "make_record",
]
