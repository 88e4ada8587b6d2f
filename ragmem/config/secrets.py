"""Mask the passwords and keys in settings before they are shown."""

import re
from collections.abc import Mapping
from typing import Any

from ragmem.domain.secrets.redaction import Redactor

MASK = "***"

# Greedy: a password may contain an unescaped @ or slash.
_USER_PART = re.compile(r"(://[^/?#:@]*):.*@")
_PARAMETER = re.compile(r"(\b(?:ssl)?password\s*=\s*)('(?:[^'\\]|\\.)*'|[^&\s]*)", re.IGNORECASE)
_SECRET_NAME = re.compile(r"PASS|SECRET|TOKEN|KEY|CREDENTIAL", re.IGNORECASE)


def mask_password(address: str) -> str:
    """Return an address with *** in place of its password."""
    return _PARAMETER.sub(rf"\1{MASK}", _USER_PART.sub(rf"\1:{MASK}@", address))


def mask_secrets(value: Any, redactor: Redactor) -> Any:
    """Return the value of a setting with masked passwords, keys and other secrets."""
    if isinstance(value, str):
        return redactor.redact(mask_password(value))[0]
    if isinstance(value, Mapping):
        return {
            name: MASK
            if isinstance(item, str) and item and _SECRET_NAME.search(name)
            else mask_secrets(item, redactor=redactor)
            for name, item in value.items()
        }
    return value
