# bash completion for kronorm: commands, then their options, then files
_kronorm()
{
    local cur=${COMP_WORDS[COMP_CWORD]} cmd=${COMP_WORDS[1]}
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W 'fit predict score simulate reproduce info --help --version' -- "$cur"))
    elif [[ $cur == -* ]]; then
        local words
        words=$(kronorm "$cmd" --completion 2>/dev/null) && words=${words#*:}
        COMPREPLY=($(compgen -W "$words" -- "$cur"))
    else
        COMPREPLY=($(compgen -f -- "$cur"))
    fi
}
complete -o filenames -F _kronorm kronorm
