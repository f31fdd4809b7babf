#!/bin/sh
# The order of the rows of a training table, and of its responses, is not part of the data.
. "$(dirname "$0")/lib.sh"
export OPENBLAS_NUM_THREADS=1

# One table of 66 rows: age, site and 14 responses, with ids; ages are whole years, so that they
# repeat. new.csv has 20 further participants.
awk 'BEGIN {
    srand(7)
    head = "participant_id,age,site"
    for (j = 1; j <= 14; j++) head = head ",r" j
    print head >"ids.csv"
    print head >"new.csv"
    for (i = 1; i <= 86; i++) {
        age = 20 + int(40 * rand())
        f = rand() + rand() + rand() - 1.5
        line = "s" i "," age "," (i % 3 == 0 ? "A" : i % 3 == 1 ? "B" : "C")
        for (j = 1; j <= 14; j++)
            line = line "," 3 + (age - 40) / 20 * (j % 4) + f * (j % 3) + rand()
        print line >(i <= 66 ? "ids.csv" : "new.csv")
    }
}'
cut -d, -f 2- ids.csv >none.csv
awk -F, -v OFS=, 'NR > 1 { $1 = "s" int(NR / 2) } { print }' ids.csv >visits.csv
awk -F, -v OFS=, '{ for (j = 4; j <= NF; j++) if (NR > 1 && (NR * 7 + j * 5) % 11 == 0) $j = "n/a"; print }' ids.csv >cells.csv

shuffled() { # table, seed: its rows in another order
    head -n 1 "$1"
    sed 1d "$1" | awk -v seed="$2" 'BEGIN { srand(seed) } { print rand() "\t" $0 }' | sort -n | cut -f 2-
}
turned() { # table, covariates: its responses from the last to the first
    awk -F, -v OFS=, -v n="$2" '{
        line = $1
        for (j = 2; j <= n; j++) line = line OFS $j
        for (j = NF; j > n; j--) line = line OFS $j
        print line
    }' "$1"
}

# Largest difference of two tables between rows of the same id and columns of the same name.
difference() { # table, table, separator
    awk -F"$3" '
        FNR == 1 { for (k = 1; k <= NF; k++) name[FILENAME, k] = $k; next }
        { for (k = 2; k <= NF; k++)
              if (FILENAME == ARGV[1]) value[$1, name[FILENAME, k]] = $k
              else {
                  other = value[$1, name[FILENAME, k]]
                  if ((other == "n/a") != ($k == "n/a")) most = 9
                  d = other - $k
                  if (d < 0) d = -d
                  if (d > most) most = d
              } }
        END { print most + 0 }' "$1" "$2"
}
same() { # table, table, separator, tolerance
    [ -s "$1" ] && [ -s "$2" ] || return 1
    d=$(difference "$1" "$2" "$3")
    echo "$1 and $2 differ by $d"
    awk -v d="$d" -v most="$4" 'BEGIN { exit !(d <= most) }'
}
p_values() { # folder: id and all p-values
    awk -F'\t' -v OFS='\t' 'NR == 1 { for (k = 2; k <= NF; k++) if ($k ~ /_p$/) use[++n] = k }
        { line = $1; for (k = 1; k <= n; k++) line = line OFS $use[k]; print line }' "$1/abnormality.tsv"
}
fitted() { # name, table, options
    name=$1 table=$2
    shift 2
    kronorm fit -c "$table" -y "$table" --use age,site --batch site --threads 1 -q -o "$name.safetensors" "$@" &&
        [ $code -eq 0 ] && kronorm score "$name.safetensors" -c new.csv -y new.csv -o "$name" --threads 1 -q
    p_values "$name" >"$name.p"
}
agree() { # what, table, number of columns before the responses, options
    what=$1 table=$2 before=$3
    shift 3
    shuffled "$table" 1 >rows.csv
    turned "$table" "$before" >columns.csv
    turned rows.csv "$before" >both.csv
    rm -rf as_is as_is.* rows rows.safe* columns columns.safe* both both.safe*
    fitted as_is "$table" "$@"
    for other in rows columns both; do
        fitted $other $other.csv "$@"
        check "$what, $other in another order: the same z" same as_is/z.csv $other/z.csv , 1e-6
        check "... and the same p-values" same as_is.p $other.p '	' 1e-6
    done
}

agree "participants with ids" ids.csv 3
agree "without ids" none.csv 2
agree "repeated measures" visits.csv 3
agree "missing cells" cells.csv 3
agree "every response alone" ids.csv 3 --method stgpr
agree "calibration" ids.csv 3 --calibrate full

# Rows that only their responses tell apart.
awk -F, -v OFS=, 'NR > 1 { $1 = 30 + 5 * (NR % 4) } { print }' none.csv >few.csv
agree "rows with the same covariates" few.csv 2

# So many participants that the pilot search takes a subsample of the training rows of one fold.
awk -F, -v OFS=, 'NR == 1 { print; next }
    { line[NR - 2] = $0 }
    END {
        srand(3)
        for (i = 0; i < 12000; i++) {
            $0 = line[i % 66]
            $1 = "m" i
            for (j = 4; j <= NF; j++) $j += rand() - 0.5
            print
        }
    }' ids.csv >many.csv
shuffled many.csv 1 >mixed.csv
fitted many many.csv
fitted mixed mixed.csv
# Sums over 12,000 rows in another order: 1.9e-6 was seen, two units of single precision.
check "more than 5,000 participants: the same z" same many/z.csv mixed/z.csv , 1e-5

# Cross-validation, its lists, and the controls that it draws.
shuffled ids.csv 2 >rows.csv
C="--use age,site --batch site --threads 1 -q"
kronorm cv -c ids.csv -y ids.csv $C -o cv1
kronorm cv -c rows.csv -y rows.csv $C -o cv2
check "cv: the same z" same cv1/z.csv cv2/z.csv , 1e-6
kronorm cv -c ids.csv -y ids.csv $C --leave-out site --controls 5 -o left1
kronorm cv -c rows.csv -y rows.csv $C --leave-out site --controls 5 -o left2
check "cv --leave-out: the same z with controls of the same level" same left1/z.csv left2/z.csv , 1e-6
kronorm cv -c ids.csv --split test=.25,stratify=site -o lists1 -q
kronorm cv -c rows.csv --split test=.25,stratify=site -o lists2 -q
sort lists1/test.txt >test1
sort lists2/test.txt >test2
check "cv --split: the same test set" cmp test1 test2
check "... that is not empty" test -s test1
done_testing
