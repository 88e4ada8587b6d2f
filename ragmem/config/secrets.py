"""Settings as they may be shown: passwords of addresses and variables are masked."""

import re
from collections.abc import Mapping
from typing import Any

from ragmem.domain.secrets.redaction import Redactor

MASK = "***"

# Greedy: a password may hold an @ or a slash that should have been written as %40 or %2F.
_USER_PART = re.compile(r"(://[^/?#:@]*):.*@")
_PARAMETER = re.compile(r"(\b(?:ssl)?password\s*=\s*)('(?:[^'\\]|\\.)*'|[^&\s]*)", re.IGNORECASE)
_SECRET_NAME = re.compile(r"PASS|SECRET|TOKEN|KEY|CREDENTIAL", re.IGNORECASE)


def mask_password(address: str) -> str:
    """Return an address with *** for its password."""
    return _PARAMETER.sub(rf"\1{MASK}", _USER_PART.sub(rf"\1:{MASK}@", address))


def mask_secrets(value: Any, redactor: Redactor) -> Any:
    """Return the value of a setting without the secrets in it: addresses, telling names, keys."""
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
