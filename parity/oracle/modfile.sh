#!/bin/sh
# Writes the oracle's module files for a Kubernetes release: modfile.sh v1.37.0 writes v1.37.mod and v1.37.sum. Replaces the staging modules, which
# k8s.io/kubernetes replaces with local directories, with their published versions (v0.37.0), or with empty ones if they are not published.
set -eu
version=${1:?usage: modfile.sh vMAJOR.MINOR.PATCH}
cd "$(dirname "$0")"
release=$(echo "$version" | cut -d . -f 1,2)
staging=v0.${version#v1.}
upstream=$(go mod download -json "k8s.io/kubernetes@$version" | sed -n 's/.*"GoMod": "\(.*\)".*/\1/p')
{
    printf 'module managed-by-policy/parity/oracle\n\n'
    sed -n '/^go /p' "$upstream"
    # The tests use wazero, which requires a newer Go. The godebug setting keeps the defaults of the release's Go version.
    sed -n 's/^go \([0-9]*\.[0-9]*\).*/\ngodebug default=go\1/p' "$upstream"
    printf '\nrequire (\n\tk8s.io/kubernetes %s\n' "$version"
    grep '^[[:space:]]*github.com/tetratelabs/wazero ' ../../go/go.mod
    printf ')\n\nreplace (\n'
    sed -n 's|^[[:space:]]*\(k8s.io/[a-z-]*\) => ./staging/.*|\1|p' "$upstream" | while read -r module; do
        if go mod download "$module@$staging" 2> /dev/null; then
            printf '\t%s => %s %s\n' "$module" "$module" "$staging"
        else
            printf '\t%s => ./bin/empty/%s\n' "$module" "${module#*/}"
        fi
    done
    printf ')\n'
} > "$release.mod"
: > "$release.sum"
./empty.sh "$release.mod"
go mod tidy -e -modfile="$release.mod"
