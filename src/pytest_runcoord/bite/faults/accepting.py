"""What faults have in common that say yes where the subject says no."""

from __future__ import annotations

from typing import ClassVar

from pytest_runcoord.bite.boundary import Asked, Boundary
from pytest_runcoord.subject import Answer


class SaysYes(Boundary):
    """Some refusals of some verbs are swallowed: the caller is told that all went well."""

    verbs: ClassVar[frozenset[str]] = frozenset()
    codes: ClassVar[frozenset[str]] = frozenset()

    def call(self, asked: Asked) -> Answer:
        try:
            return asked.go()
        except Exception as error:
            if asked.verb not in self.verbs or self.refusal(error) not in self.codes:
                raise
            answer = self.granted(asked)
            if answer is None:
                raise
            self.meet()
            return answer

    def granted(self, asked: Asked) -> Answer | None:
        """The answer in place of the refusal; ``None``: this one is passed on."""
        return Answer({"run": asked.run, "epoch": asked.epoch})
