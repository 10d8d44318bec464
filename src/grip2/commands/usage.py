"""Messages for usage errors on the command line: one sentence that says what to write."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any


def usage_sentence(error: Any) -> str:
    """The sentence for a usage error of click, or of typer's own copy of it."""
    kind = type(error).__name__
    if kind == "MissingParameter" and error.param is not None:
        return _missing(error)
    if kind == "BadParameter" and error.message.startswith("--"):  # by our own parsers, which name the option
        return str(error.message)
    message = error.format_message().strip()
    word = re.match(r"No such command '(.*?)'", message)
    if word and Path(word[1]).suffix and Path(word[1]).is_file():
        return f"{word[1]} is a file, not a command. Write: grip2 select {word[1]} --target COLUMN"
    if "unexpected extra argument" in message:
        message = message.rstrip(".") + ". Put quotes around words with spaces, and one word after each option."
    return f"{message.rstrip('.?')}{'?' if message.endswith('?') else '.'} See {_command(error)} --help."


def _missing(error: Any) -> str:
    """The sentence for a missing parameter, with its purpose."""
    option = next((word for word in error.param.opts if word.startswith("--")), None)
    help_text = (getattr(error.param, "help", None) or "").strip().rstrip(".")
    what = option or f"the {error.param.name}"
    if help_text[1:2].islower():
        help_text = help_text[0].lower() + help_text[1:]
    meaning = f" ({help_text})" if help_text else ""
    return f"{what} is missing{meaning}. See {_command(error)} --help."


def _command(error: Any) -> str:
    return str(error.ctx.command_path) if error.ctx is not None else "grip2"
