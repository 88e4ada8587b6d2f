"""`ragmem serve --install` and `--uninstall`: the service that starts the server at login."""

import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ragmem.cli.common import say, tell
from ragmem.errors import EXIT_NO, EXIT_OK, RagmemError

if TYPE_CHECKING:
    from ragmem.services.wiring.autostart import Service

LOG_NAME = "serve.log"


def install(options: Sequence[str], *, home: Path, state: Path, dry_run: bool, quiet: bool) -> int:
    """Write the service and start it; print the commands if it cannot be started from here."""
    from ragmem.services.wiring import autostart

    service, missing = _service(options, home=home, state=state)
    if dry_run:
        say(f"would write {service.path}:\n\n{service.content}")
        _say_commands("would run", service.start)
        return EXIT_OK
    again = service.path.exists()
    autostart.install(service)
    if not quiet:
        say(f"{'rewrote' if again else 'wrote'} {service.path}")
        for name in missing:
            tell(f"warning: the service does not inherit {name}: set it in config.toml")
    if not autostart.reaches_manager(service):
        _say_commands(
            "it was not started, because this session cannot reach the service manager; run", service.start
        )
        return EXIT_OK
    if again:
        _let_go(service)
    autostart.run(service.start)
    if not quiet:
        say("it is running, and starts at each login")
        if service.path.suffix == ".service":
            tell("to keep it running while you are logged out: loginctl enable-linger")
    return EXIT_OK


def uninstall(*, home: Path, state: Path, dry_run: bool, quiet: bool) -> int:
    """Stop the service and remove its file; return 1 if there is none."""
    from ragmem.services.wiring import autostart

    service, _ = _service((), home=home, state=state)
    if not service.path.exists():
        tell(f"there is no {service.path}")
        return EXIT_NO
    if dry_run:
        _say_commands("would run", service.stop)
        say(f"would remove {service.path}")
        return EXIT_OK
    reached = autostart.reaches_manager(service)
    if reached:
        autostart.require_ours(service)
        _let_go(service)
    autostart.uninstall(service)
    if reached:
        autostart.run(service.after)
    if not quiet:
        say(f"removed {service.path}")
    return EXIT_OK


def _service(options: Sequence[str], *, home: Path, state: Path) -> "tuple[Service, list[str]]":
    from ragmem.services.wiring import autostart

    environment, missing = autostart.environment_for(os.environ, home=home, cwd=Path.cwd())
    wish = autostart.ServiceOptions(sys.executable, options, environment, state / LOG_NAME)
    service = autostart.service_for(sys.platform, wish, home=home, environ=os.environ, user=os.getuid())
    return service, missing


def _let_go(service: "Service") -> None:
    """Stop the service; one that is stopped already is fine."""
    from ragmem.services.wiring import autostart

    try:
        autostart.run(service.stop)
    except RagmemError as error:
        tell(f"note: {error}")


def _say_commands(what: str, commands: Sequence[Sequence[str]]) -> None:
    say(f"{what}:")
    for command in commands:
        say(f"  {shlex.join(command)}")
