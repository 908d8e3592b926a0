package managedby

import (
	"fmt"
	"slices"
	"strings"
)

// Release is a minor release of Kubernetes, such as "1.36".
type Release string

// Supported releases.
const (
	V1_30 Release = "1.30"
	V1_31 Release = "1.31"
	V1_32 Release = "1.32"
	V1_33 Release = "1.33"
	V1_34 Release = "1.34"
	V1_35 Release = "1.35"
	V1_36 Release = "1.36"
	V1_37 Release = "1.37"
)

// AllReleases returns all supported releases, oldest first.
func AllReleases() Releases {
	return Releases{V1_30, V1_31, V1_32, V1_33, V1_34, V1_35, V1_36, V1_37}
}

// Since returns a release and all newer ones, oldest first; nil if the release is not supported.
func Since(release Release) Releases {
	all := AllReleases()
	first := slices.Index(all, release)
	if first < 0 {
		return nil
	}
	return all[first:]
}

// ParseRelease parses a release, such as "1.36".
func ParseRelease(text string) (Release, error) {
	if !slices.Contains(AllReleases(), Release(text)) {
		return "", fmt.Errorf("managedby: unsupported release %q, expected a release from 1.30 to 1.37", text)
	}
	return Release(text), nil
}

// Releases is a set of releases, oldest first.
type Releases []Release

// Contains reports whether a release is in the set.
func (r Releases) Contains(release Release) bool { return slices.Contains(r, release) }

// String formats the set as ranges: "1.30, 1.32 to 1.37".
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
		texts[i] = string(run[0])
		if run[0] != run[1] {
			texts[i] += " to " + string(run[1])
		}
	}
	return strings.Join(texts, ", ")
}

// with returns the union of two sets, oldest first.
func (r Releases) with(others Releases) Releases {
	union := slices.Concat(r, others)
	slices.SortFunc(union, func(a, b Release) int {
		return slices.Index(AllReleases(), a) - slices.Index(AllReleases(), b)
	})
	return slices.Compact(union)
}
