#!/bin/sh
# The R package as its users get it: R CMD build and R CMD check without an error or a warning, configure
# where there is no library, the same bytes as the command's, the example.
#   check.sh SOURCE BUILD KRONORM
set -eu
source=$(cd "$1" && pwd) build=$(cd "$2" && pwd)
kronorm=$(cd "$(dirname "$3")" && pwd)/$(basename "$3")
if ! command -v R >/dev/null || ! R CMD config CC >/dev/null 2>&1; then
    echo "skipped: there is no R that compiles packages (Debian: r-base-core and make)"
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "not so: $*" >&2 && exit 1; }

unset LD_LIBRARY_PATH # the package has to find its library itself
unset KRONORM_PREFIX KRONORM_BUNDLE R_LIBS R_LIBS_USER
export OPENBLAS_NUM_THREADS=2 TMPDIR="$work"

# ---- one version ----
part() { sed -n "s/^#define KN_VERSION_$1 \([0-9]*\).*/\1/p" "$source/include/kronorm.h"; }
version=$(part MAJOR).$(part MINOR)
grep -qx "Version: $version.$(part PATCH)" "$source/r/kronorm/DESCRIPTION" || fail "DESCRIPTION has the version of the library"
grep -qx "wanted=$version" "$source/r/kronorm/configure" || fail "configure wants the version of the library"

# ---- a library under a prefix, with a space in it ----
prefix="$work/the prefix"
mkdir -p "$prefix/include" "$prefix/lib" "$work/library"
cp "$source/include/kronorm.h" "$prefix/include"
cp -P "$build"/libkronorm.so "$build"/libkronorm.so.[0-9] "$build"/libkronorm.so.[0-9]*.[0-9]*[0-9] "$prefix/lib"

# ---- what configure says without one ----
cp -r "$source/r/kronorm" "$work/copy"
says() { # sentence, variables ...
    sentence=$1
    shift
    if (cd "$work/copy" && env "$@" ./configure) >"$work/log" 2>&1; then fail "configure went on: $sentence"; fi
    grep -qF "$sentence" "$work/log" || { cat "$work/log" && fail "configure says: $sentence"; }
    [ ! -e "$work/copy/src/Makevars" ] || fail "a Makevars was left"
}
says "there is no include/kronorm.h in it" KRONORM_PREFIX="$work/nowhere"
says "pkg-config does not know kronorm" PKG_CONFIG_LIBDIR="$work/nowhere"
mkdir -p "$work/newer/include" "$work/newer/lib"
sed 's/define KN_VERSION_MINOR .*/define KN_VERSION_MINOR 99/' "$source/include/kronorm.h" >"$work/newer/include/kronorm.h"
touch "$work/newer/lib/libkronorm.so"
says "is of version 0.99, and this package is written for" KRONORM_PREFIX="$work/newer"
mkdir -p "$work/pc/lib/pkgconfig"
printf 'includedir=%s\nlibdir=%s\nName: kronorm\nDescription: .\nVersion: 0.2.0\n' "$prefix/include" "$prefix/lib" \
    >"$work/pc/kronorm.pc"
(cd "$work/copy" && PKG_CONFIG_LIBDIR="$work/pc" ./configure && ./cleanup) >"$work/log" || fail "pkg-config is asked"
[ ! -e "$work/copy/src/Makevars" ] || fail "cleanup leaves a Makevars"

# ---- R CMD build, R CMD check ----
export KRONORM_PREFIX="$prefix"
export _R_CHECK_FORCE_SUGGESTS_=false _R_CHECK_CRAN_INCOMING_=false
echo 'options(repos = c(CRAN = ""))' >"$work/profile" # nothing is looked for in the network
export R_PROFILE_USER="$work/profile"
cd "$work"
R CMD build "$source/r/kronorm" >"$work/log" 2>&1 || { cat "$work/log" && fail "R CMD build"; }
R CMD check --no-manual kronorm_*.tar.gz >"$work/log" 2>&1 || { cat "$work/log" kronorm.Rcheck/tests/*.fail 2>/dev/null && fail "R CMD check"; }
grep '^Status' kronorm.Rcheck/00check.log
sed -n '/[.][.][.] NOTE$/,/^\*/p' kronorm.Rcheck/00check.log
if grep -qE '(ERROR|WARNING)$' kronorm.Rcheck/00check.log || ! grep -qE '^Status: (OK|[0-9]+ NOTEs?)$' kronorm.Rcheck/00check.log; then
    cat "$work/log" && fail "R CMD check has an error or a warning"
fi

# ---- with the library inside, and nothing of what it was made from ----
KRONORM_BUNDLE=yes R CMD INSTALL --library="$work/library" kronorm_*.tar.gz >"$work/log" 2>&1 || { cat "$work/log" && fail "R CMD INSTALL"; }
mv "$prefix" "$work/elsewhere"
export R_LIBS="$work/library"
# the core that the command asks for where OpenBLAS does not know the processor
core=$(Rscript -e 'cat(kronorm:::kronorm_build()$better_core)')
[ "$core" = NA ] || export OPENBLAS_CORETYPE="$core"
Rscript "$source/tests/r/command.R" "$kronorm"
Rscript "$source/examples/normative.R" "$work/example" >"$work/log" 2>&1 || { cat "$work/log" && fail "the example runs"; }
for file in region_01.pdf report.html model.safetensors; do
    [ -s "$work/example/$file" ] || fail "the example makes $file"
done

# ---- what docs/reference/r.md shows is what R prints ----
Rscript "$source/tests/r/page.R" "$source/docs/reference/r.md"
