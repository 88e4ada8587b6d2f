"""The rules of a user: check an assistant's answers, and store violations."""

from collections.abc import Sequence
from pathlib import Path

from ragmem.api.home import Home, now
from ragmem.domain.sessions.rules import Rule
from ragmem.errors import BackendError
from ragmem.services.context.checker import CheckReport, Judge, check, read_rules, rules_file
from ragmem.storage.activity.violations import Violation


class Rules:
    """Rules and their violations."""

    def __init__(self, home: Home) -> None:
        self._home = home

    def read(self, file: Path | None = None) -> tuple[Path, list[Rule]]:
        """Return the rules and their file; raises ConfigError if there are none."""
        settings = self._home.settings
        path = file or rules_file(settings.check, config=settings.places.config, home=self._home.home)
        return path, read_rules(path)

    def check(
        self,
        text: str,
        rules: Sequence[Rule],
        *,
        session: str = "",
        agent: str = "",
        assistant: str = "",
        project: str = "",
        judged: bool = False,
    ) -> tuple[CheckReport, int]:
        """Return which rules a text breaks, and how many violations are new to the session.

        With a session, violations are stored, and injected with its next prompt. With `judged`, the
        language model checks the rules that need judgement, within [check] judgements_per_day.
        """
        home = self._home
        judge, note = self._judge() if judged else (None, "")
        if session or judge:
            home.prepare()
        most = home.settings.check.judgements_per_day
        found = check(
            text, rules, catalog=home.catalog, judge=judge, most=most, now=now(), redactor=home.redactor
        )
        found.note = note or found.note
        new = 0
        if session and found.violations:
            new = home.catalog.violations.keep(
                [(one.rule, one.statement, one.excerpt) for one in found.violations],
                session=session,
                agent=agent,
                assistant=assistant,
                project=project,
                now=now(),
            )
        return found, new

    def violations(self, *, session: str = "", limit: int = 20) -> list[Violation]:
        """Return the latest violations of one session or of all."""
        catalog = self._home.catalog
        return catalog.violations.latest(session=session, limit=limit) if catalog.exists() else []

    def _judge(self) -> tuple[Judge | None, str]:
        try:
            model = self._home.models.language_model
        except BackendError as error:
            return None, f"no rule that needs judgement was checked: {error.full_message}"
        if model is None:
            return None, "no rule that needs judgement was checked: no model is set in [language_model]"
        return Judge(model, self._home.settings.language_model.backend, self._home.meter), ""
