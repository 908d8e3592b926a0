#!/bin/sh
# Creates the empty modules that a module file replaces staging modules with: empty.sh v1.38.mod. The oracle imports none of them.
set -eu
sed -n 's|.* => ./bin/empty/||p' "$1" | while read -r module; do
    mkdir -p "bin/empty/$module"
    printf 'module empty\n' > "bin/empty/$module/go.mod"
    printf 'package empty\n' > "bin/empty/$module/empty.go"
done
