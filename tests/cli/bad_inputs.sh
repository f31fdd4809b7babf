#!/bin/sh
# Choices of rows and columns that cannot be: one sentence, nothing left behind.
. "$(dirname "$0")/lib.sh"
make_tables

fit() { # promise, sentence, options ...
    promise=$1 sentence=$2
    shift 2
    refused "$promise" "$sentence" fit -o m.safetensors "$@"
}
wrong() { # promise, sentence, options ...
    promise=$1 sentence=$2
    shift 2
    misused "$promise" "$sentence" fit -o m.safetensors "$@"
}

# ---- conditions
both="-c people.csv -y thickness.csv"
fit "a condition on a column that is not there" \
    "people.csv: no column 'grup' as --where asks for; the closest are age, sex, site, participant_id" \
    $both --where grup=control
fit "a condition that nobody meets" "people.csv: --where site=C leaves no row, site is A, B" $both --where site=C
fit "a number compared with texts" \
    "people.csv line 2: site is 'A', expected a number, which --where site<5 compares" $both --where 'site<5'
wrong "a text to compare with" ": --where has 'age<old', expected a number to compare with" $both --where 'age<old'
wrong "no condition" \
    ": --where has 'site', expected a column, one of = != < <= > >= or in, and a value, such as age<60 or site in a|b" \
    $both --where site

# ---- sessions
awk -F, -v OFS=, 'NR == 1 { print $0, "visit"; next } { print $0, 1; if (NR < 9) print $0, 2 }' people.csv >visits.csv
fit "ids that repeat" \
    "visits.csv: 7 ids are on several lines, 14 in all, the first on lines 2 and 3: s01, s02, s03, s04, s05, ... (for sessions of one person use --session)" \
    -c visits.csv -y thickness.csv
fit "sessions that only one side has" \
    "visits.csv and thickness.csv have no ids in common: the first are s01_ses-1 and s01" \
    -c visits.csv -y thickness.csv --session visit
fit "a column of sessions that is not there" \
    "people.csv: no column 'wave' as --session asks for; the closest are age, sex, site, participant_id" \
    $both --session wave
sed '4s/,1$/,n\/a/' visits.csv >unknown.csv
fit "a row without a session" \
    "unknown.csv line 4: visit is 'n/a', expected the session that --session asks for" \
    -c unknown.csv -y thickness.csv --session visit
cut -d, -f2- people.csv >nobody.csv
cut -d, -f2- thickness.csv >nothing.csv
fit "sessions of nobody" "nobody.csv: --session needs a column of ids (name it in --id)" \
    -c nobody.csv -y nothing.csv --session first
done_testing
