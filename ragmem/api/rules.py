"""The methods of an open memory for the rules of a person: check what an assistant said, and remember it."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ragmem.api.home import Opened, now
from ragmem.errors import BackendError

if TYPE_CHECKING:
    from ragmem.domain.sessions.rules import Rule
    from ragmem.services.context.checker import Checked, Judge
    from ragmem.storage.activity.violations import Broken

# Services are imported where they are used: a question must not pay for what only a check needs.


class Checking(Opened):
    """What can be done with rules."""

    def rules(self, file: Path | None = None) -> "tuple[Path, list[Rule]]":
        """Return the rules that are checked by, and their file; raises ConfigError where there are none."""
        from ragmem.services.context.checker import read_rules, rules_file

        path = file or rules_file(self.settings.check, config=self.settings.places.config, home=self.home)
        return path, read_rules(path)

    def check_said(
        self,
        text: str,
        rules: "Sequence[Rule]",
        *,
        session: str = "",
        agent: str = "",
        assistant: str = "",
        project: str = "",
        judged: bool = False,
    ) -> "tuple[Checked, int]":
        """Return which rules a text breaks, and how many violations are new to the session.

        With a session they are kept, and its next prompt tells of them. With `judged` the language model is
        asked about rules that take judgement, within [check] judgements_per_day.
        """
        from ragmem.services.context.checker import check

        judge, note = self._judge() if judged else (None, "")
        if session or judge:
            self.prepare()
        most = self.settings.check.judgements_per_day
        found = check(
            text, rules, catalog=self.catalog, judge=judge, most=most, now=now(), redactor=self.redactor
        )
        found.note = note or found.note
        new = 0
        if session and found.violations:
            new = self.catalog.violations.keep(
                [(one.rule, one.statement, one.excerpt) for one in found.violations],
                session=session,
                agent=agent,
                assistant=assistant,
                project=project,
                now=now(),
            )
        return found, new

    def violations(self, *, session: str = "", limit: int = 20) -> "list[Broken]":
        """Return the latest violations, of one session or of all."""
        return self.catalog.violations.latest(session=session, limit=limit) if self.catalog.exists() else []

    def _judge(self) -> "tuple[Judge | None, str]":
        from ragmem.services.context.checker import Judge

        try:
            model = self.models.language_model
        except BackendError as error:
            return None, f"no rule that takes judgement was looked at: {error.told}"
        if model is None:
            return None, "no rule that takes judgement was looked at: no model stands below [language_model]"
        return Judge(model, self.settings.language_model.backend, self._meter), ""
