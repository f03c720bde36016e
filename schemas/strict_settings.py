"""Settings that people wrote, taken as they stand: text is no number, 8.0 no whole number, true no
1.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any, TypeVar

from pydantic import BaseModel
from pydantic_core import SchemaValidator

Model = TypeVar("Model", bound=BaseModel)
_PLAIN = frozenset({"int", "float", "bool", "str"})


def strictly(model: type[Model], content: object) -> Model:
    """The settings as the model has them. Raises pydantic's `ValidationError`.

    Pydantic's own strictness would refuse lists for tuples and text for paths too, which YAML has
    no other way to write.
    """
    found: Model = _validator(model).validate_python(content)
    return found


@cache
def _validator(model: type[BaseModel]) -> SchemaValidator:
    model.model_rebuild()
    return SchemaValidator(
        _strict(model.__pydantic_core_schema__), _use_prebuilt=False
    )  # else models bring their own


def _strict(schema: Any) -> Any:
    """A schema in which plain values are taken from their own types only."""
    if isinstance(schema, Mapping):
        changed = {
            name: _strict(part) if name != "metadata" else part for name, part in schema.items()
        }
        return {**changed, "strict": True} if schema.get("type") in _PLAIN else changed
    if isinstance(schema, list | tuple):
        return type(schema)(_strict(part) for part in schema)
    return schema
