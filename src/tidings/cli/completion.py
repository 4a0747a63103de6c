"""`tidings completion`: print the script that completes commands, options and ids in a shell."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from tidings.cli.lazy import command_app


class Shell(StrEnum):
    """The shells that are known."""

    bash = "bash"
    zsh = "zsh"
    fish = "fish"


BASH = """\
_tidings() {
    local word
    COMPREPLY=()
    while IFS= read -r word; do
        COMPREPLY+=("${word%%$'\\t'*}")
    done < <("${COMP_WORDS[0]}" __complete bash "${COMP_LINE:0:COMP_POINT}" 2>/dev/null)
    [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace
    return 0
}
complete -o bashdefault -o default -F _tidings tidings
"""

ZSH = """\
#compdef tidings
_tidings() {
    local -a values shown
    local value meaning
    while IFS=$'\\t' read -r value meaning; do
        values+=("$value")
        shown+=("$value${meaning:+  -- $meaning}")
    done < <("${words[1]}" __complete zsh "${(@)words[1,CURRENT]}" 2>/dev/null)
    if (( ${#values} )); then
        compadd -l -d shown -a values
    else
        _files
    fi
}
compdef _tidings tidings
"""

FISH = """\
function __tidings_complete
    set -l found (tidings __complete fish (commandline -opc) (commandline -ct) 2>/dev/null)
    if test (count $found) -gt 0
        printf '%s\\n' $found
    else
        __fish_complete_path (commandline -ct)
    end
end
complete --command tidings --no-files --arguments '(__tidings_complete)'
"""

SCRIPTS = {Shell.bash: BASH, Shell.zsh: ZSH, Shell.fish: FISH}

app = command_app()
_EXAMPLES = """\
[bold]Examples[/bold]

tidings completion bash > ~/.local/share/bash-completion/completions/tidings

tidings completion zsh > ~/.zfunc/_tidings

tidings completion fish > ~/.config/fish/completions/tidings.fish
"""


@app.command(epilog=_EXAMPLES)
def completion(
    shell: Annotated[Shell, typer.Argument(metavar="SHELL", help="bash, zsh or fish.", show_default=False)],
) -> None:
    """Print the script that completes `tidings` in a shell; ids of sessions and reminders too."""
    typer.echo(SCRIPTS[shell], nl=False)
