# bash completion for kronorm: commands, then their options and the words these take, then files
_kronorm()
{
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} cmd=${COMP_WORDS[1]} words
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W 'fit predict score simulate reproduce info help --help --version' -- "$cur"))
        return
    fi
    if [[ $cur == -* ]]; then
        words=$(kronorm "$cmd" --completion 2>/dev/null | sed -n '1s/^[^:]*://p')
    elif [[ $prev == --* ]]; then
        words=$(kronorm "$cmd" --completion 2>/dev/null | sed -n "s/^$prev: //p")
    fi
    if [ -n "$words" ]; then
        COMPREPLY=($(compgen -W "$words" -- "$cur"))
    else
        COMPREPLY=($(compgen -f -- "$cur"))
    fi
}
complete -o filenames -F _kronorm kronorm
