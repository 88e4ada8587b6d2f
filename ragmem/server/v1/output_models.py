"""Models of `/openapi.json`, made from output fields that the services define for all interfaces."""

from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeVar

from pydantic import Field, create_model

from ragmem.server.v1.fields import Moment, Shape
from ragmem.services.retrieval.output_fields import OutputField, output_example

EXAMPLES: dict[str, dict[str, Any]] = {}
"""Model name -> the example of its own and inherited fields."""

_Model = TypeVar("_Model", bound=Shape)


def output_model(*fields: OutputField[Any], **types: Any) -> Callable[[type[_Model]], type[_Model]]:
    """Add fields to a model, and their examples to `EXAMPLES`.

    `types` are the models of fields that are JSON objects.
    """

    def add_fields(model: type[_Model]) -> type[_Model]:
        inherited = EXAMPLES.get(model.__bases__[0].__name__, {})
        EXAMPLES[model.__name__] = inherited | output_example(fields)
        declared: dict[str, Any] = {
            field.name: (
                types.get(field.name, Moment if field.type is datetime else field.type),
                Field(description=field.description or None),
            )
            for field in fields
        }
        return create_model(
            model.__name__, __base__=model, __doc__=model.__doc__, __module__=model.__module__, **declared
        )

    return add_fields
