# What the command-line tests share. Each script is one meson test that speaks TAP: a line
# `ok N - promise` for each promise. It starts in an empty folder of its own; KRONORM is the command.
set -u
export LC_ALL=C
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/kn-cli-XXXXXX")
logs=$(mktemp -d "${TMPDIR:-/tmp}/kn-cli-XXXXXX")
trap 'rm -rf "$work" "$logs"' EXIT
cd "$work" || exit 1
promises=0

ok() { # promise
    promises=$((promises + 1))
    echo "ok $promises - $1"
}

not_ok() { # promise, why
    promises=$((promises + 1))
    echo "not ok $promises - $1"
    printf '%s\n' "$2" "exit code ${code:-}" "$(cat "$logs/out" "$logs/err" 2>/dev/null)" |
        sed 's/^/# /'
}

skip() { # promise, why
    promises=$((promises + 1))
    echo "ok $promises - $1 # SKIP $2"
}

# Are two models the same but for the record of the run that made them?
same_model() { python3 "$here/../python/same_model.py" "$1" "$2"; }

done_testing() { echo "1..$promises"; }

# Runs the command; its exit code is in $code, what it said in $logs/out and $logs/err.
kronorm() {
    "$KRONORM" "$@" >"$logs/out" 2>"$logs/err" </dev/null
    code=$?
}

check() { # promise, command that must succeed ...
    promise=$1
    shift
    if "$@" >"$logs/check" 2>&1; then ok "$promise"; else not_ok "$promise" "$* $(cat "$logs/check")"; fi
}

works() { # promise, arguments of kronorm ...
    promise=$1
    shift
    kronorm "$@"
    if [ $code -eq 0 ]; then ok "$promise"; else not_ok "$promise" "kronorm $*"; fi
}

# Everything in the folder: a file that was only touched is another one.
tree() { find . -type d -print -o -printf '%p %s %T@\n' | sort; }

fails() { # promise, exit code, the whole of stderr, arguments ...
    promise=$1 expected=$2 sentence=$3
    shift 3
    tree >"$logs/before"
    kronorm "$@" -q
    tree >"$logs/after"
    if [ $code -ne "$expected" ]; then
        not_ok "$promise" "expected exit code $expected: kronorm $*"
    elif [ "$(cat "$logs/err")" != "$sentence" ] || [ -s "$logs/out" ]; then
        not_ok "$promise" "expected $sentence"
    elif ! cmp -s "$logs/before" "$logs/after"; then
        not_ok "$promise" "something was left behind: $(diff "$logs/before" "$logs/after")"
    else
        ok "$promise"
    fi
}

refused() { # promise, sentence, arguments ...: bad data, exit code 1, nothing left behind
    promise=$1 sentence=$2
    shift 2
    fails "$promise" 1 "kronorm: $sentence" "$@"
}

misused() { # promise, sentence, arguments ...: wrong usage, exit code 2
    promise=$1 sentence=$2
    shift 2
    fails "$promise" 2 "kronorm$sentence" "$@"
}

# ---- Python -----------------------------------------------------------------------------------

# One process of Python imports these modules and stays, for ask_python. Fails where one of them is missing.
start_python() { # modules ...
    mkfifo "$logs/ask" "$logs/answer"
    PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 "$here/../python/serve.py" "$logs" "$@" \
        <"/dev/null" >"$logs/serve" 2>&1 &
    exec 8<>"$logs/ask" 9<>"$logs/answer"
    python=$!
    trap 'kill $python; rm -rf "$work" "$logs"' EXIT
    read -r answer <&9
    return "$answer"
}

# Runs a script of tests/python, as python3 would, but without the time that it takes to import what start_python
# was given.
ask_python() { # script, arguments ...
    script=$here/../python/$1
    shift
    printf '%s\0' "$PWD" "$script" "$@" >"$logs/request"
    echo >&8
    read -r answer <&9
    cat "$logs/script_out"
    cat "$logs/script_err" >&2
    return "$answer"
}

# ---- data -------------------------------------------------------------------------------------

# 40 participants: regions.csv is all in one, participants.csv and thickness.csv are its two halves.
make_tables() {
    awk 'function u() { x = (x * 16807) % 2147483647; return x / 2147483647 }
        BEGIN {
            x = 3
            print "participant_id,age,sex,site,lh_a,lh_b,rh_a,rh_b"
            for (i = 1; i <= 40; i++) {
                age = 20 + int(50 * u()); sex = u() < 0.5 ? "F" : "M"; e = u()
                printf "s%02d,%d,%s,%s,%.4f,%.4f,%.4f,%.4f\n", i, age, sex, i % 2 ? "A" : "B",
                    3 - 0.010 * age + 0.1 * e + 0.05 * u(), 2.5 - 0.005 * age + 0.1 * e + 0.05 * u(),
                    3.1 - 0.012 * age + 0.1 * e + 0.05 * u(), 2.2 + 0.1 * u()
            }
        }' >regions.csv
    cut -d, -f1-4 regions.csv >people.csv
    cut -d, -f1,5- regions.csv >thickness.csv
}

# visits.csv, all in one: 30 participants twice, in 15 families, at 3 tesla; code is 0 or 1, scanner says what site
# says, row is another in every row.
make_visits() {
    awk 'function u() { x = (x * 16807) % 2147483647; return x / 2147483647 }
        function n() { return u() + u() + u() + u() - 2 }
        BEGIN {
            x = 7
            print "participant_id,age,sex,code,site,scanner,tesla,family,row,a,b,c,d"
            for (i = 1; i <= 30; i++) {
                age = 20 + int(50 * u()); sex = u() < 0.5 ? "F" : "M"; code = u() < 0.4; e = n(); f = n()
                for (v = 0; v < 2; v++)
                    printf "s%02d,%d,%s,%d,%s,%d,3,f%02d,r%d,%.4f,%.4f,%.4f,%.4f\n", i, age + v, sex, code,
                        i % 2 ? "A" : "B", i % 2, (i + 1) / 2, 2 * i + v,
                        3 - 0.010 * age + 0.1 * e + 0.05 * n(), 2.5 - 0.005 * age + 0.1 * e + 0.05 * n(),
                        3.1 - 0.012 * age + 0.1 * e + 0.05 * n(), 2.2 + 0.1 * f + 0.05 * n()
            }
        }' >visits.csv
}

# noise.csv, all in one: 40 participants whose age says nothing.
make_noise() {
    awk 'function u() { x = (x * 16807) % 2147483647; return x / 2147483647 }
        BEGIN {
            x = 17 * 7919
            print "participant_id,age,a,b,c"
            for (i = 1; i <= 40; i++)
                printf "p%02d,%d,%.4f,%.4f,%.4f\n", i, 20 + int(50 * u()), u(), u(), u()
        }' >noise.csv
}

# 24 healthy participants, 19 of them in the training lists, and 4 patients.
make_images() { "$KRONORM" simulate --samples 24 --patients 4 -o study -q; }

# column NAME of a table, without its name
column() { # file, name
    awk -v name="$2" -F "$(case $1 in *.tsv) printf '\t' ;; *) printf , ;; esac)" '
        NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) c = i; next } { print $c }' "$1"
}

# a model file edited by sed, with the checksum of its new bytes
edited() { # sed script, file
    sed "$1" "$2" | /usr/bin/python3 "$here/../python/reseal.py"
}

# bytes written over those at an offset
patch() { # file, offset, printf format
    printf "$3" | dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null
}
