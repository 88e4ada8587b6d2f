"""The back end keeps the contracts that ragmem ships for its own."""

import trigrams

from ragmem.testing import ModelsContract, StoreContract


class TestTrigrams(ModelsContract):
    def open_models(self):
        return trigrams.open_models({})


class TestTableStore(StoreContract):
    def open_store(self, database):
        return trigrams.open_store({}, trigrams.open_models({}), database=database)
