// Marks the module root. Each release has a module file of its own: go build -modfile=v1.37.mod
module managed-by-policy/parity/oracle

go 1.26.0
