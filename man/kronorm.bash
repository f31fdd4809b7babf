# bash completion for kronorm: commands, then their options and the words these take, then files
_kronorm()
{
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} cmd=${COMP_WORDS[1]}
    local commands='fit adapt predict score overlap change centiles report cv export simulate reproduce info' words before=
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W "$commands help --help --version" -- "$cur"))
        return
    fi
    if [ "$cmd" = help ]; then
        COMPREPLY=($(compgen -W "$commands" -- "$cur"))
        return
    fi
    # bash parts --noise=iso into three words
    if [ "$cur" = = ]; then
        cur=
    elif [ "$prev" = = ]; then
        prev=${COMP_WORDS[COMP_CWORD-2]}
    fi
    if [[ $cur == -* ]]; then
        words=$(kronorm "$cmd" --completion 2>/dev/null | sed -n '1s/^[^:]*://p')
    elif [[ $prev == -* ]]; then
        words=$(kronorm "$cmd" --completion 2>/dev/null | sed -n "s/^$prev: //p")
        # of a list or a sum, the last
        before=${cur%"${cur##*[,+]}"}
    fi
    if [ -n "$words" ]; then
        COMPREPLY=($(compgen -P "$before" -W "$words" -- "${cur#"$before"}"))
    fi
    if [ ${#COMPREPLY[@]} -eq 0 ]; then
        COMPREPLY=($(compgen -f -- "$cur"))
    fi
}
complete -o filenames -F _kronorm kronorm
