"""Write a software bill of materials (CycloneDX 1.6, JSON) of the installed ragmem to standard output.

It is made of the metadata of what is installed, so run it in the environment that is meant. The time is
SOURCE_DATE_EPOCH's, else none: the same environment gives the same bytes.
"""

import argparse
import hashlib
import json
import os
import sys
import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import Distribution, distribution
from pathlib import Path
from typing import Any

from distributions import direct, is_expression, licence, needed
from packaging.utils import canonicalize_name

import ragmem

ROOT = Path(__file__).resolve().parents[1]
MODEL = Path(ragmem.__file__).parent / "backends" / "minilm" / "minilm.safetensors"
PAGE = ROOT / "web" / "package-lock.json"
_NAMESPACE = uuid.UUID("3f0b6cfa-6d6c-4b9e-9b1e-7b6a5f3f6d11")


def main(arguments: Sequence[str]) -> int:
    """Print the document; 1 where something that it needs is not installed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--extra", action="append", default=[], metavar="NAME", help="with what an extra brings"
    )
    options = parser.parse_args(arguments)
    try:
        document = bill(options.extra, os.environ)
    except ModuleNotFoundError as error:  # PackageNotFoundError is one
        print(f"make_sbom: {error.name or error} is not installed", file=sys.stderr)
        return 1
    print(json.dumps(document, indent=2, ensure_ascii=False))
    return 0


def bill(extras: Sequence[str], environ: Mapping[str, str]) -> dict[str, Any]:
    """Return the document; raises PackageNotFoundError for what is not installed."""
    own = distribution("ragmem")
    found = needed([f"ragmem[{','.join(extras)}]" if extras else "ragmem"])
    found.pop("ragmem")
    parts = [_component(one) for one in found.values()]
    ours = [_model(), *_page()]
    known = set(found)
    links = [
        {
            "ref": _ref(own),
            "dependsOn": sorted([*_refs(own, known, found, extras), *(one["bom-ref"] for one in ours)]),
        },
        *({"ref": _ref(one), "dependsOn": sorted(_refs(one, known, found, ()))} for one in found.values()),
        *({"ref": one["bom-ref"]} for one in ours),
    ]
    metadata: dict[str, Any] = {"component": _component(own) | {"type": "application"}}
    if epoch := environ.get("SOURCE_DATE_EPOCH"):
        metadata["timestamp"] = f"{datetime.fromtimestamp(int(epoch), UTC):%Y-%m-%dT%H:%M:%SZ}"
    named = "\n".join([_ref(own), *sorted(one["bom-ref"] for one in [*parts, *ours])])
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(_NAMESPACE, named)}",
        "version": 1,
        "metadata": metadata,
        "components": [*parts, *ours],
        "dependencies": links,
    }


def _refs(
    of: Distribution, known: set[str], found: Mapping[str, Distribution], extras: Sequence[str]
) -> set[str]:
    wanted = [one for extra in ("", *extras) for one in direct(of, extra)]
    # An extra that names extras of its own package, as `all` does, leads to what those bring.
    deeper = [inner for one in wanted if canonicalize_name(one.name) == "ragmem" for inner in one.extras]
    names = {canonicalize_name(one.name) for one in wanted} & known
    return {_ref(found[name]) for name in names} | (_refs(of, known, found, deeper) if deeper else set())


def _ref(of: Distribution) -> str:
    return f"pkg:pypi/{canonicalize_name(of.name)}@{of.version}"


def _component(of: Distribution) -> dict[str, Any]:
    told = licence(of)
    component: dict[str, Any] = {
        "type": "library",
        "bom-ref": _ref(of),
        "name": of.name,
        "version": of.version,
        "purl": _ref(of),
    }
    if summary := of.metadata.get("Summary"):
        component["description"] = summary
    if told:
        component["licenses"] = (
            [{"expression": told}] if is_expression(told) else [{"license": {"name": told}}]
        )
    return component


def _model() -> dict[str, Any]:
    return {
        "type": "machine-learning-model",
        "bom-ref": "model:all-MiniLM-L6-v2-int8",
        "name": "all-MiniLM-L6-v2",
        "version": "int8-1",
        "description": "The bundled embedding model, quantised to int8.",
        "hashes": [{"alg": "SHA-256", "content": hashlib.sha256(MODEL.read_bytes()).hexdigest()}],
        "licenses": [{"expression": "Apache-2.0"}],
    }


def _page() -> list[dict[str, Any]]:
    """Return the libraries that are built into the page of `ragmem serve`, from the lock of its build."""
    if not PAGE.is_file():
        return []
    packages = json.loads(PAGE.read_text(encoding="utf-8"))["packages"]
    return [
        {
            "type": "library",
            "bom-ref": f"pkg:npm/{name}@{facts['version']}",
            "name": name,
            "version": facts["version"],
            "purl": f"pkg:npm/{name}@{facts['version']}",
            "licenses": [{"expression": facts["license"]}],
        }
        for path, facts in sorted(packages.items())
        if path and not facts.get("dev") and (name := path.removeprefix("node_modules/"))
    ]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
