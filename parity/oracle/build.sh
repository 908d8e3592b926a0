#!/bin/sh
# Builds the oracle of a release: build.sh 1.33 writes bin/1.33. A patch release such as 1.33.5 uses the module file of its minor release with
# other versions, and the further checksums in v1.33.5.sum, which this writes if it is missing.
set -eu
version=$1
cd "$(dirname "$0")"
minor=$(echo "$version" | cut -d . -f 1,2)
./empty.sh "v$minor.mod"
if [ "$version" = "$minor" ]; then
    exec go build -modfile="v$minor.mod" -o "bin/$version" .
fi
newest=$(sed -n 's/^[[:space:]]k8s.io\/kubernetes v1\.//p' "v$minor.mod")
mkdir -p bin
sed "s/ v0\.$newest\$/ v0.${version#1.}/; s/ v1\.$newest\$/ v$version/" "v$minor.mod" > "bin/v$version.mod"
[ -e "v$version.sum" ] || sums_are_new=1
cat "v$minor.sum" $(ls "v$version.sum" 2> /dev/null) > "bin/v$version.sum"
go build -mod=mod -modfile="bin/v$version.mod" -o "bin/$version" .
if [ "${sums_are_new-}" ]; then grep -vxF -f "v$minor.sum" "bin/v$version.sum" > "v$version.sum"; fi
