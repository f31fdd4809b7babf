#!/bin/sh
# A real terminal, through tmux: a bar while it works, and Ctrl-C that stops it.
. "$(dirname "$0")/lib.sh"
if ! command -v tmux >/dev/null; then
    skip "a progress bar" "tmux is not installed"
    skip "Ctrl-C" "tmux is not installed"
    done_testing
    exit 0
fi
make_images
server=kn-cli-$$
trap 'tmux -L $server kill-server 2>/dev/null; rm -rf "$work" "$logs"' EXIT
tmux -L $server -f /dev/null new-session -d -x 120 -y 30 sh
screen() { tmux -L $server capture-pane -p; }
type_in() { tmux -L $server send-keys "$@"; }
wait_for() { # pattern, tenths of a second
    left=$2
    until screen | grep -Eq "$1"; do
        left=$((left - 1))
        [ $left -gt 0 ] || return 1
        sleep 0.1
    done
}
saw() { # promise, pattern, tenths of a second
    if wait_for "$2" "$3"; then ok "$1"; else not_ok "$1" "$(screen)"; fi
}
type_in "PS1=; clear" Enter
# so many restarts never end by themselves
slow="fit -c study/train_participants.tsv --use age,sex -y study/train_images.txt --noise iso --restarts 1000000"
type_in "$KRONORM $slow -o m.safetensors; echo exit code \$?" Enter
saw "long work shows where it is, how fast, and the likelihood" \
    '(\[#+ *\] +[0-9]+%|evaluation [0-9]+) .*/s .*log-likelihood' 300
type_in C-c
saw "Ctrl-C stops it within two seconds" '^exit code 130$' 20
check "... with one sentence" sh -c "[ \"$(screen | grep -c '^kronorm: stopped on request$')\" -eq 1 ]"
check "... and leaves nothing" test -z "$(ls -A | grep safetensors)"

type_in "clear; $KRONORM simulate --samples 3000 --patients 0 -o big; echo exit code \$?" Enter
saw "a bar with rate and time left" '^images +\[#* *\] +[0-9]+% +[0-9.e+]+/s +[0-9-]+:[0-9-]+ left' 300
type_in C-c
saw "Ctrl-C stops simulate within two seconds" '^exit code 130$' 20
check "... and leaves no folder" test ! -e big

type_in "clear; $KRONORM $slow -o m.safetensors --quiet; echo exit code \$?" Enter
sleep 1
check "--quiet shows no bar" sh -c "[ -z \"$(screen | grep -E 'evaluation|#####')\" ]"
type_in C-c
saw "... and is stopped all the same" '^exit code 130$' 20
"$KRONORM" $slow -o m.safetensors -q 2>"$logs/err" &
sleep 1
kill -TERM $!
wait $!
code=$?
check "a SIGTERM is a request too" test $code -eq 143 -a -z "$(ls -A | grep safetensors)"
"$KRONORM" $slow -o m.safetensors -q 2>"$logs/err" &
sleep 1
kill -HUP $!
wait $!
code=$?
check "and a SIGHUP" test $code -eq 129 -a -z "$(ls -A | grep safetensors)"
done_testing
