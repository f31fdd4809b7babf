#!/bin/sh
# Help, versions, and what wrong usage gets.
. "$(dirname "$0")/lib.sh"

example() { # command, its example
    kronorm "$1" --help
    check "$1 --help exits with 0 and nothing on stderr" test $code -eq 0 -a ! -s "$logs/err"
    check "$1 --help has an example" grep -qxF "  $2" "$logs/out"
    for option in --threads $([ "$1" = info ] || echo --seed --force) --quiet --verbose --version --help; do
        grep -q -e "$option" "$logs/out" || { not_ok "$1 has $option" "$option"; return; }
    done
    ok "$1 --help lists the common options"
    check "$1 --help fits in 100 columns but for its examples" \
        awk '/^  kronorm / { next } length > 100 { print; bad = 1 } END { exit bad }' "$logs/out"
    kronorm "$1" -h
    check "$1 -h is short: the example, at most 15 options, and where the others are" test $code -eq 0 -a \
        "$(grep -cE '^  (-.,|  ) --' "$logs/out")" -le 15 -a "$(grep -cxF "  $2" "$logs/out")" -eq 1 -a \
        "$(grep -cE "^All [0-9]+ options: kronorm $1 --help$" "$logs/out")" -eq 1
    kronorm "$1" --version
    check "$1 --version" grep -qx 'kronorm [0-9]*\.[0-9]*\.[0-9]*' "$logs/out"
}
example fit "kronorm fit -c participants.tsv --use age,sex,site -y images.txt -m mask.nii.gz -o model.safetensors"
example predict "kronorm predict model.safetensors -c new_participants.tsv -o predicted"
example score "kronorm score model.safetensors -c test_participants.tsv -y test_images.txt --cases group=patient -o scored"
example centiles "kronorm centiles model.safetensors --over age --at site=mean -o curves"
example overlap "kronorm overlap scored --by group -c test_participants.tsv -o overlap"
example report "kronorm report model.safetensors --scored scored -o report.html"
example export "kronorm export model.safetensors -o shared.safetensors"
example adapt "kronorm adapt model.safetensors -c controls.tsv -y controls.txt -o adapted.safetensors"
example cv "kronorm cv -c participants.tsv --use age,sex,site -y images.txt -m mask.nii.gz -o held_out"
example change "kronorm change model.safetensors -c visits.tsv -y visits.csv --participant participant_id --visit session --reference group=control -o change"
example simulate "kronorm simulate --kind cohort --participants 120 --patients 20 -o study"
example reproduce "kronorm reproduce --data visual --methods smtgpr --repeats 2 -o results"
example info "kronorm info model.safetensors --json"

kronorm predict --help
check "predict --help offers the maps that predict writes" grep -qE -e '--write yhat,ys2_model,ys2( |$)' "$logs/out"
kronorm predict --completion
check "... and so does the shell" grep -qx -e '--write: yhat ys2_model ys2' "$logs/out"
kronorm fit --help
check "what a flag turns off is described as such" grep -qE -e '--no-standardise +do not scale' "$logs/out"
check "a default is shown in brackets" grep -qF '[default: 10]' "$logs/out"


for c in fit cv; do
    kronorm $c --help
    check "$c --help says which page describes several processes" \
        grep -q "docs/howto/clusters.md" "$logs/out"
    check "... and has the variants for research last" test "$(sed -n 's/^\([A-Z].*\):$/\1/p' "$logs/out" | tail -1)" = \
        "Research variants"
done
for c in score predict; do
    kronorm $c --help
    check "$c --help says how its parts are started" grep -q -e '--part 1/N to N/N, ' "$logs/out"
done

for c in fit adapt predict score cv overlap change centiles report export simulate reproduce info; do
    kronorm $c --man
    check "$c has a manual page with an example and its exit codes" test \
        "$(grep -cE '^\.(TH KRONORM|SH (OPTIONS|EXAMPLE|EXIT STATUS))' "$logs/out")" -eq 4
    kronorm $c --completion
    check "$c offers its options to the shell" grep -q "^$c: .*--threads.*--help" "$logs/out"
done
kronorm fit --completion
check "and the words that they take" test "$(sed -n 's/^--noise: //p; s/^--rank: //p' "$logs/out" | tr '\n' /)" = \
    "structured iso whitened auto/auto full/"
kronorm help fit
cp "$logs/out" "$logs/page"
kronorm fit --help
check "kronorm help fit is kronorm fit --help" cmp "$logs/page" "$logs/out"
misused "help of a command that is not there" ": unknown command 'fitt'; did you mean fit? (see 'kronorm --help')" help fitt
completed() { # promise, what bash offers with spaces between, the words so far ...
    promise=$1 offered=$2
    shift 2
    if ! command -v bash >/dev/null; then
        skip "$promise" "there is no bash"
        return
    fi
    got=$(PATH=$(dirname "$(realpath "$KRONORM")"):$PATH bash -c '. "$0"
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _kronorm; echo "${COMPREPLY[*]}"' \
        "$here/../../man/kronorm.bash" "$@")
    check "$promise" test "$got" = "$offered"
}
completed "the shell completes a command" "predict" kronorm pr
completed "... after help too" "fit" kronorm help f
completed "... an option" "--likelihood" kronorm fit --lik
completed "... the value of an option" "structured" kronorm fit --noise s
completed "... after an equals sign" "smtgpr stgpr" kronorm fit --method = s
completed "... and before anything is typed" "nested tnewton lbfgs" kronorm fit --optimiser ""
completed "... the next of a list" "z,yhat z,ys2_model z,ys2" kronorm score m --write z,y
completed "... the next of a sum" "linear+se" kronorm fit --sample-kernel linear+s
completed "... by the letter of an option" "auto" kronorm fit -P a
completed "... a word that a column could stand for" "auto none" kronorm fit --group ""
: >participants.tsv
completed "... and files where no word will do" "participants.tsv" kronorm fit -c part
rm participants.tsv
kronorm --help
check "kronorm --help lists the commands" \
    test $code -eq 0 -a "$(grep -cE '^  (fit|predict|score|simulate|reproduce|info) ' "$logs/out")" -eq 6
sed -n 's/^  \([a-z]*\)  *\(.*\)/\1 \2/p' "$logs/out" >"$logs/commands"
sed -n '/^\.SH COMMANDS/,/^\.SH EXIT/{s/\\-/-/g; s/^\.B //; /^\./!p}' "$here/../../man/kronorm.1" | paste -d ' ' - - >"$logs/manual"
check "... and the manual has the same" cmp "$logs/commands" "$logs/manual"
kronorm
check "kronorm alone prints them on stderr and exits with 2" \
    test $code -eq 2 -a -s "$logs/err" -a ! -s "$logs/out"
kronorm info --build
check "info --build names BLAS, core and threads" \
    test "$(grep -cE '^(kronorm|BLAS|core|threads) ' "$logs/out")" -eq 4

misused "an unknown command" ": unknown command 'fitt'; did you mean fit? (see 'kronorm --help')" fitt
misused "an unknown option" " fit: unknown option --covariate; did you mean --covariates? (see 'kronorm fit --help')" fit --covariate
misused "an option that no other is like" " fit: unknown option --xyzzy (see 'kronorm fit --help')" fit --xyzzy
misused "no covariates" " fit: option -c (--covariates) is required (see 'kronorm fit --help')" fit
misused "no responses" " fit: option -y (--responses) is required (see 'kronorm fit --help')" fit -c a.csv
misused "no output" " fit: option -o (--output) is required (see 'kronorm fit --help')" fit -c a.csv -y b.csv
misused "no model" " score: the name of a model file is missing (see 'kronorm score --help')" score -c a.csv -o d
misused "a stray word" " fit: 'b.csv' belongs to no option (see 'kronorm fit --help')" fit -c a.csv b.csv
misused "a word that is no choice" \
    " fit: --noise is 'white', but must be structured|iso|whitened|auto; did you mean whitened? (see 'kronorm fit --help')" fit --noise white
misused "a number that is none" \
    " fit: --folds is 'ten', but must be a whole number (see 'kronorm fit --help')" fit --folds ten
misused "a map that is none" \
    " score: --write is 'z,w', but must be some of z,yhat,ys2_model,fdr,ys2,metrics (see 'kronorm score --help')" \
    score m -c a.csv -y b.csv -o d --write z,w
misused "metrics without responses" ": metrics need responses; use 'kronorm score'" predict m -c a.csv -o d --write metrics
misused "z without responses" ": z maps need responses; use 'kronorm score'" predict m -c a.csv -o d --write z
F="fit -c a.csv -y b.csv -o m"
misused "components that are no number" \
    " fit: --components is 'many', but must be a number from 1 or auto (see 'kronorm fit --help')" \
    $F -P many
misused "a kernel that is none" \
    " fit: --sample-kernel is 'rbf', but must be additive, or a sum of linear, se and iso, such as linear+se (see 'kronorm fit --help')" \
    $F --sample-kernel rbf
misused "a preset that is none" \
    " fit: --preset is 'best', but must be paper (see 'kronorm fit --help')" $F --preset best
misused "components for stgpr" \
    " fit: --method stgpr fits each response separately, so --components does not apply (see 'kronorm fit --help')" \
    $F --method stgpr -P 3
misused "a basis for kronprod" \
    " fit: --method kronprod has iso noise and no basis, so --basis does not apply (see 'kronorm fit --help')" \
    $F --method kronprod --basis pca
misused "the paper's likelihood with structured noise" " fit: --likelihood paper requires --noise iso (see 'kronorm fit --help')" \
    $F --likelihood paper
misused "one fold" " fit: --folds is 1; it must be 0 or at least 2 (see 'kronorm fit --help')" $F --folds 1
misused "a share above 1" " fit: --top is 2; it must be above 0 and up to 1 (see 'kronorm fit --help')" $F --top 2
misused "patients of an experiment" \
    " simulate: --participants and --patients apply only to --kind cohort (see 'kronorm simulate --help')" \
    simulate --kind miyawaki --patients 3 -o d
misused "no model for info" \
    " info: give one model file, or --build (see 'kronorm info --help')" info
done_testing
