package managedby

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Release is a release of Kubernetes: the patch releases of a minor release that have the same rules. Its name is its newest patch release,
// such as "1.33.5" for 1.33.3 to 1.33.5. The newest release of a minor release has the name of the minor release, such as "1.33".
type Release string

// Supported releases.
const (
	V1_30   Release = "1.30"
	V1_31   Release = "1.31"
	V1_32_6 Release = "1.32.6"
	V1_32_9 Release = "1.32.9"
	V1_32   Release = "1.32"
	V1_33_2 Release = "1.33.2"
	V1_33_5 Release = "1.33.5"
	V1_33   Release = "1.33"
	V1_34_1 Release = "1.34.1"
	V1_34   Release = "1.34"
	V1_35   Release = "1.35"
	V1_36_1 Release = "1.36.1"
	V1_36   Release = "1.36"
	V1_37   Release = "1.37"
)

// AllReleases returns all supported releases, oldest first.
func AllReleases() Releases {
	return Releases{V1_30, V1_31, V1_32_6, V1_32_9, V1_32, V1_33_2, V1_33_5, V1_33, V1_34_1, V1_34, V1_35, V1_36_1, V1_36, V1_37}
}

// WithManagedByOnByDefault returns the releases in which the JobManagedBy feature gate is on by default, 1.32 and newer, oldest first. Tests
// with managedbyclient evaluate them by default. 1.30 and 1.31 drop managedBy unless the gate is on.
func WithManagedByOnByDefault() Releases {
	return Since(V1_32)
}

// Since returns a release and all newer ones, oldest first; nil if the release is not supported. A minor release such as [V1_33] includes all
// of its patch releases.
func Since(release Release) Releases {
	all := AllReleases()
	first := slices.Index(all, release)
	if first < 0 {
		return nil
	}
	for first > 0 && release.isNewest() && all[first-1].minor() == release.minor() {
		first--
	}
	return all[first:]
}

// ParseRelease returns the release of a version: "1.33.4", "v1.33.4-eks-abc", or "1.33" for the newest patch release. Versions newer than the
// newest known patch release have its rules, and so has the beta of 1.38.
func ParseRelease(version string) (Release, error) {
	numbers := strings.TrimPrefix(version, "v")
	suffix := strings.IndexAny(numbers, "-+")
	if suffix >= 0 {
		numbers = numbers[:suffix]
	}
	parts := strings.Split(numbers, ".")
	if parts[0] == "1" && len(parts) > 1 && parts[1] == "38" {
		parts[1] = "37"
	}
	if len(parts) == 2 && suffix < 0 || len(parts) == 3 && isNumber(parts[2]) {
		for _, release := range AllReleases() {
			if release.minor() == parts[0]+"."+parts[1] && (release.isNewest() || len(parts) == 3 && number(parts[2]) <= release.patch()) {
				return release, nil
			}
		}
	}
	return "", fmt.Errorf("managedby: unsupported release %q, expected a release from 1.30 to 1.37 (1.36 or 1.36.1)", version)
}

// isNewest reports whether the release is the newest of its minor release.
func (r Release) isNewest() bool { return strings.Count(string(r), ".") == 1 }

// minor returns the minor release, such as "1.33".
func (r Release) minor() string {
	parts := strings.SplitN(string(r), ".", 3)
	return strings.Join(parts[:min(2, len(parts))], ".")
}

// patch returns the patch version in the name.
func (r Release) patch() int { return number(strings.TrimPrefix(string(r), r.minor()+".")) }

func isNumber(text string) bool {
	_, err := strconv.ParseUint(text, 10, 31)
	return err == nil && (text == "0" || text[0] != '0')
}

func number(text string) int {
	n, _ := strconv.Atoi(text)
	return n
}

// Releases is a set of releases, oldest first.
type Releases []Release

// Contains reports whether a release is in the set.
func (r Releases) Contains(release Release) bool { return slices.Contains(r, release) }

// String formats the set as ranges: "1.30 to 1.31, 1.32.0 to 1.32.6, 1.33 from 1.33.6, 1.34.2 to 1.37".
func (r Releases) String() string {
	var runs [][2]Release
	before := false
	for _, release := range AllReleases() {
		contains := r.Contains(release)
		switch {
		case contains && before:
			runs[len(runs)-1][1] = release
		case contains:
			runs = append(runs, [2]Release{release, release})
		}
		before = contains
	}
	texts := make([]string, len(runs))
	for i, run := range runs {
		texts[i] = formatRun(run[0], run[1])
	}
	return strings.Join(texts, ", ")
}

// formatRun formats consecutive releases.
func formatRun(first, last Release) string {
	minor, patch := first.minor(), 0
	if i := slices.Index(AllReleases(), first); i > 0 && AllReleases()[i-1].minor() == minor {
		patch = AllReleases()[i-1].patch() + 1
	}
	from := fmt.Sprintf("%s.%d", minor, patch)
	switch {
	case last == Release(minor) && patch == 0:
		return minor
	case last == Release(minor):
		return minor + " from " + from
	case patch == 0 && last.minor() != minor:
		from = minor
	case from == string(last):
		return from
	}
	return from + " to " + string(last)
}

// with returns the union of two sets, oldest first.
func (r Releases) with(others Releases) Releases {
	union := slices.Concat(r, others)
	slices.SortFunc(union, func(a, b Release) int {
		return slices.Index(AllReleases(), a) - slices.Index(AllReleases(), b)
	})
	return slices.Compact(union)
}
