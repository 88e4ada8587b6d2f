"""The store on LightRAG keeps the contract of a store."""

from ragmem.backends import fake, lightrag
from ragmem.testing import NativeModesContract


class TestLightRAGStore(NativeModesContract):
    def open_store(self, database):
        return lightrag.open_store({}, fake.open_models({}), database=database)
