#!/bin/sh
# Measures the coverage of kube-apiserver's Job status code: coverage.sh RELEASE CASES SEED prints a table of covered blocks per function for the vectors,
# for CASES generated cases and for the fuzzer's corpus, and the blocks that none of them covers.
set -eu
release=${1:?usage: coverage.sh RELEASE CASES SEED}
cases=${2:?}
seed=${3:?}
cd "$(dirname "$0")"
upstream=k8s.io/kubernetes/pkg/registry/batch/job,k8s.io/kubernetes/pkg/apis/batch/validation
out=$PWD/bin/coverage-$release
rm -rf "$out"
mkdir -p "$out/vectors" "$out/generator"

# A program writes its coverage only if its own package is instrumented too.
go build -cover -coverpkg="managed-by-policy/parity/oracle,$upstream" -modfile="v$release.mod" -o "bin/$release" .
sed 's/^{"case":\(.*\),"results":\[.*/\1/' ../vectors/*.ndjson | GOCOVERDIR=$out/vectors "bin/$release" > /dev/null
GOCOVERDIR=$out/generator cargo run --quiet --package managed-by-parity -- random "$cases" "$seed" "$release" >&2
# Remove the instrumented program, which is slower, so that the next `make oracle` rebuilds it.
rm "bin/$release"
for from in vectors generator; do
    go tool covdata textfmt -i="$out/$from" -o "$out/$from.txt"
done
# Run only the inputs in testdata/fuzz. This skips all seeds that f.Add adds: the vectors, but also testdata/jobs.txt.
go test -modfile="v$release.mod" -run '^Fuzz(Job|Text)$/^[0-9a-f]{16}$' -coverpkg="$upstream" -coverprofile="$out/corpus.txt" . >&2

source=$(go list -m -modfile="v$release.mod" -f '{{.Dir}}' k8s.io/kubernetes)
awk -v source="$source" -v out="$out" '
    BEGIN {
        evaluated = "^(validateJobStatus|ValidateJobStatusUpdate|ValidateJobUpdateStatus|getStatusValidationOptions|jobStatusStrategy[.](PrepareFor|Validate).*|" \
            "[iI]sJob[A-Z].*|IsCondition.*|.*Index.*|ValidateJobSpecUpdate|validatePodTemplateUpdate|shouldAllowMutablePodTemplate|" \
            "validationOptionsForJob|jobStrategy[.](PrepareFor|Validate).*)$"
        count = split("vectors generator corpus", names, " ")
        for (i = 1; i <= count; i++) {
            while ((getline line < (out "/" names[i] ".txt")) > 0) {
                if (split(line, part, /[:., ]/) < 8 || line !~ /^k8s.io\/kubernetes/) continue
                block = line; sub(/ [0-9]+ [0-9]+$/, "", block)
                if (!(block in known)) { known[block] = 1; allBlocks[++all] = block }
                if (line !~ / 0$/) reached[i, block] = 1
            }
        }
        print "| function | blocks | vectors | generator | corpus |\n| --- | --- | --- | --- | --- |"
        for (p = 1; p <= all; p++) {
            file = allBlocks[p]; sub(/:.*/, "", file); sub(/^k8s.io\/kubernetes/, source, file)
            first = allBlocks[p]; sub(/.*:/, "", first); first = int(first)
            name = functionAt(file, first)
            if (name !~ evaluated) continue
            if (!(name in blocks)) order[++functions] = name
            blocks[name]++
            missed = 1
            for (i = 1; i <= count; i++) if ((i, allBlocks[p]) in reached) { reach[i, name]++; missed = 0 }
            if (missed) left = left name ": " allBlocks[p] "\n"
        }
        for (f = 1; f <= functions; f++) {
            name = order[f]
            printf "| `%s` | %d |", name, blocks[name]
            for (i = 1; i <= count; i++) printf " %d |", reach[i, name]
            print ""
        }
        printf "\n%s", left
    }
    # Returns the function that contains a line of a file.
    function functionAt(file, wanted,    line, n, name) {
        if (!(file in lines)) {
            while ((getline line < file) > 0) {
                n++
                if (line ~ /^func /) {
                    sub(/^func (\(([a-z]+ )?\*?)?/, "", line); sub(/\) /, ".", line); sub(/\(.*/, "", line)
                    name = line
                }
                at[file, n] = name
            }
            lines[file] = n
        }
        return at[file, wanted]
    }
'
