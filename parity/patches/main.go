// Patches finds out which patch releases of Kubernetes have other rules for Jobs and CronJobs than their predecessor. It compares the
// declarations in all packages that the oracle compiles, without comments, and writes those that differ to table.tsv:
//
//	patch release TAB changed declarations TAB what the change means
//
// People write the last column: "same: REASON" or "differs: REASON". Without an argument, the program keeps the table and reads only patch
// releases that are newer; with the argument `all` it reads all of them again. With a pre-release such as `1.38.0-beta.0`, it also compares that
// with the newest patch release, only in the packages of the batch API: "unverified: REASON", because the library does not support it.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const (
	table       = "parity/patches/table.tsv"
	firstMinor  = 30
	notServed   = "not served"
	maxNotFound = 3 // The module proxy does not serve some patch releases.
)

// roots are the packages with the strategies and the decoder that the oracle imports.
var roots = []string{
	"k8s.io/kubernetes/pkg/registry/batch/job",
	"k8s.io/kubernetes/pkg/registry/batch/cronjob",
	"k8s.io/kubernetes/pkg/apis/batch/install",
	"k8s.io/kubernetes/pkg/apis/core/install",
	"k8s.io/kubernetes/pkg/api/legacyscheme",
}

// staging are the modules whose packages are read besides k8s.io/kubernetes.
var staging = []string{"api", "apimachinery", "apiserver", "component-base", "component-helpers"}

// row is a line of the table.
type row struct{ patch, changed, meaning string }

func main() {
	argument := ""
	if len(os.Args) > 1 {
		argument = os.Args[1]
	}
	if err := run(argument); err != nil {
		fmt.Fprintln(os.Stderr, "patches:", err)
		os.Exit(1)
	}
}

func run(argument string) error {
	text, err := os.ReadFile(table)
	if err != nil {
		return err
	}
	known := map[string]row{}
	var rows []row
	for line := range strings.Lines(string(text)) {
		fields := append(strings.Split(strings.TrimSuffix(line, "\n"), "\t"), "", "")
		known[fields[0]] = row{fields[0], fields[1], fields[2]}
	}
	for minor := firstMinor; ; minor++ {
		found, err := rowsOfMinor(minor, known, argument == "all")
		if err != nil {
			return err
		}
		if len(found) == 0 {
			break
		}
		rows = append(rows, found...)
	}
	newest := rows[len(rows)-1].patch
	prereleases := map[string]row{}
	for name, r := range known {
		if strings.Contains(name, "-") && minorOf(name) > minorOf(newest) {
			prereleases[name] = r
		}
	}
	if strings.Contains(argument, "-") {
		old, err := read(newest)
		if err != nil {
			return err
		}
		source, err := read(argument)
		if err != nil {
			return err
		}
		isOther := func(key, _ string) bool {
			pkg, name, _ := strings.Cut(key, " ")
			return !strings.Contains(pkg, "batch") || strings.HasPrefix(name, "map_")
		}
		maps.DeleteFunc(old, isOther)
		maps.DeleteFunc(source, isOther)
		prereleases[argument] = row{argument, diff(old, source), ""}
	}
	for _, name := range slices.Sorted(maps.Keys(prereleases)) {
		rows = append(rows, prereleases[name])
	}
	var out strings.Builder
	unreviewed := 0
	for _, r := range rows {
		if before := known[r.patch]; before.changed == r.changed {
			r.meaning = before.meaning
		}
		if r.meaning == "" && r.changed != "" && r.changed != notServed {
			unreviewed++
		}
		fmt.Fprintln(&out, strings.TrimRight(r.patch+"\t"+r.changed+"\t"+r.meaning, "\t"))
	}
	if err := os.WriteFile(table, []byte(out.String()), 0o644); err != nil {
		return err
	}
	fmt.Printf("%d patch releases, %d changes to review in %s\n", len(rows), unreviewed, table)
	return nil
}

// minorOf returns the minor release of a patch release, or -1.
func minorOf(patch string) int {
	minor, err := strconv.Atoi(strings.Split(patch, ".")[1])
	if err != nil {
		return -1
	}
	return minor
}

// rowsOfMinor returns the rows of a minor release. It reads the patch releases that are not known, and their predecessor.
func rowsOfMinor(minor int, known map[string]row, all bool) ([]row, error) {
	var rows []row
	var previous map[string]string
	readable, missing := -1, 0
	for patch := 0; missing < maxNotFound; patch++ {
		name := fmt.Sprintf("1.%d.%d", minor, patch)
		if r, ok := known[name]; ok && !all && r.changed != notServed {
			rows, previous, readable, missing = append(rows, r), nil, patch, 0
			continue
		}
		source, err := read(name)
		if errors.Is(err, errNotServed) {
			rows, missing = append(rows, row{name, notServed, ""}), missing+1
			continue
		} else if err != nil {
			return nil, err
		}
		if previous == nil && readable >= 0 {
			if previous, err = read(fmt.Sprintf("1.%d.%d", minor, readable)); err != nil {
				return nil, err
			}
		}
		missing = 0
		fmt.Println(name)
		changed := ""
		if previous != nil {
			changed = diff(previous, source)
		}
		rows, previous, readable = append(rows, row{name, changed, ""}), source, patch
	}
	return rows[:len(rows)-maxNotFound], nil
}

// diff lists the declarations that differ, by package.
func diff(old, new map[string]string) string {
	byPackage := map[string][]string{}
	for _, side := range []map[string]string{old, new} {
		for key := range side {
			pkg, name, _ := strings.Cut(key, " ")
			if old[key] != new[key] && !slices.Contains(byPackage[pkg], name) {
				byPackage[pkg] = append(byPackage[pkg], name)
			}
		}
	}
	var texts []string
	for pkg, names := range byPackage {
		slices.Sort(names)
		texts = append(texts, pkg+": "+strings.Join(names, ", "))
	}
	slices.Sort(texts)
	return strings.Join(texts, "; ")
}

var errNotServed = errors.New("not served")

// read downloads a release such as 1.37.2 and returns its declarations, by package and name.
func read(release string) (map[string]string, error) {
	cache, err := os.MkdirTemp("", "patches")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(cache)
	args := []string{"mod", "download", "-json", "k8s.io/kubernetes@v" + release}
	for _, module := range staging {
		args = append(args, "k8s.io/"+module+"@v0."+strings.TrimPrefix(release, "1."))
	}
	command := exec.Command("go", args...)
	// The checksum database lacks some of these modules. Their code is only read.
	command.Dir, command.Env = cache, append(os.Environ(), "GOMODCACHE="+cache, "GOFLAGS=-modcacherw", "GONOSUMDB=k8s.io/*")
	output, _ := command.Output() // The output has the errors.
	directories := map[string]string{}
	for decoder := json.NewDecoder(bytes.NewReader(output)); ; {
		var module struct{ Path, Dir, Error string }
		if err := decoder.Decode(&module); err == io.EOF {
			break
		} else if err != nil {
			return nil, err
		}
		switch {
		case strings.Contains(module.Error, "40") && strings.Contains(module.Error, "server response"):
			return nil, errNotServed
		case module.Error != "":
			return nil, errors.New(module.Error)
		}
		directories[module.Path] = module.Dir
	}
	declarations := map[string]string{}
	seen := map[string]bool{}
	for queue := slices.Clone(roots); len(queue) > 0; queue = queue[1:] {
		parts := strings.SplitN(queue[0], "/", 3)
		if seen[queue[0]] || len(parts) < 3 || directories[parts[0]+"/"+parts[1]] == "" {
			continue
		}
		seen[queue[0]] = true
		files, err := filepath.Glob(filepath.Join(directories[parts[0]+"/"+parts[1]], parts[2], "*.go"))
		if err != nil {
			return nil, err
		}
		for _, path := range files {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			imports, err := addFile(declarations, path, parts[1]+"/"+parts[2])
			if err != nil {
				return nil, err
			}
			queue = append(queue, imports...)
		}
	}
	return declarations, nil
}

// addFile adds the declarations of a file, and returns its imports.
func addFile(declarations map[string]string, path, pkg string) (imports []string, err error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	text := func(node any) string {
		var b strings.Builder
		err = errors.Join(err, printer.Fprint(&b, fset, node))
		return b.String()
	}
	for _, declaration := range file.Decls {
		switch d := declaration.(type) {
		case *ast.FuncDecl:
			name := d.Name.Name
			if d.Recv != nil {
				name = strings.TrimPrefix(text(d.Recv.List[0].Type), "*") + "." + name
			}
			declarations[pkg+" "+name] += text(d)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.ImportSpec:
					name, err := strconv.Unquote(s.Path.Value)
					if err != nil {
						return nil, err
					}
					imports = append(imports, name)
				case *ast.TypeSpec:
					declarations[pkg+" "+s.Name.Name] += text(s)
				case *ast.ValueSpec:
					declarations[pkg+" "+s.Names[0].Name] += text(s)
				}
			}
		}
	}
	return imports, err
}
