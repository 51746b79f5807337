"""``noregret completion``: the shell's own completion of commands, options and study names."""

from __future__ import annotations

import json

import click
from click.shell_completion import get_completion_class


@click.command(
    short_help="Completion for your shell",
    epilog='Example: eval "$(noregret completion bash)", in your ~/.bashrc to keep it',
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
@click.pass_context
def completion(ctx: click.Context, shell: str, as_json: bool) -> None:
    """The script that completes commands, options and study names in your SHELL.

    zsh: eval "$(noregret completion zsh)" in ~/.zshrc. fish: noregret completion fish >
    ~/.config/fish/completions/noregret.fish
    """
    kind = get_completion_class(shell)
    assert kind is not None
    script = kind(ctx.find_root().command, {}, "noregret", "_NOREGRET_COMPLETE").source()
    click.echo(json.dumps({"shell": shell, "script": script}) if as_json else script)
