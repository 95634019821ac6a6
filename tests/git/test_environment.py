"""Which variables a child does not inherit."""

from __future__ import annotations

from git.repositories import Place
from runcoord._git import scrubbed
from runcoord._git.environment import for_questions, is_local


def test_every_variable_that_git_itself_calls_local_is_taken_out(main: Place) -> None:
    named = main.git("rev-parse", "--local-env-vars").split()
    assert len(named) > 10
    assert scrubbed(dict.fromkeys(named, "x")) == {}


def test_config_handed_over_in_the_environment_is_taken_out_with_its_keys_and_values() -> None:
    environ = {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.bare",
        "GIT_CONFIG_VALUE_0": "true",
        "A": "b",
    }
    assert scrubbed(environ) == {"A": "b"}


def test_credentials_ssh_authors_and_the_choice_of_the_global_config_pass() -> None:
    names = (
        "GIT_SSH_COMMAND GIT_SSH GIT_ASKPASS SSH_AUTH_SOCK GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_AUTHOR_DATE"
    )
    names += (
        " GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL GIT_CONFIG_GLOBAL GIT_CONFIG_NOSYSTEM GIT_EDITOR GIT_TRACE"
    )
    environ = dict.fromkeys(names.split(), "x")
    assert scrubbed(environ) == environ


def test_scrubbing_leaves_the_given_environment_alone() -> None:
    environ = {"GIT_DIR": "/x", "PATH": "/bin"}
    scrubbed(environ)
    assert environ == {"GIT_DIR": "/x", "PATH": "/bin"}


def test_our_own_questions_write_no_trace_and_ask_nobody() -> None:
    asked = for_questions({"GIT_TRACE2_EVENT": "/tmp/x", "GIT_DIR": "/x", "GIT_TERMINAL_PROMPT": "1"})
    assert "GIT_TRACE2_EVENT" not in asked
    assert not any(is_local(name) for name in asked)
    assert asked["GIT_TERMINAL_PROMPT"] == "0"
    assert asked["GIT_OPTIONAL_LOCKS"] == "0"
