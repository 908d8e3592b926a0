package managedby

import (
	"errors"
	"fmt"
	"strings"
)

// Enforcement is what a rule does with what it finds.
type Enforcement string

// What a rule may do.
const (
	Deny Enforcement = "deny"
	Warn Enforcement = "warn"
)

// Finding is one thing that a rule found wrong with one field.
type Finding struct {
	// Rule is the rule's id, such as "job-status/ready-exceeds-active".
	Rule string
	// Enforcement says whether the request is denied for it.
	Enforcement Enforcement
	// Path is the field, from the object's root, as kube-apiserver writes it.
	Path string
	// Type is the type of kube-apiserver's field.Error, in its words: "Invalid value".
	Type string
	// Detail says what is wrong and, if possible, what is valid.
	Detail string
	// Upstream says whether kube-apiserver finds it too; what it does not find is this project's own.
	Upstream bool
	// Releases are the releases that report this finding. [Policy.Review] leaves it empty if the settings name no release.
	Releases Releases
	// Errors are the whole errors: releases print values differently.
	Errors []ReleaseError
}

// ReleaseError is an error in the words of some releases.
type ReleaseError struct {
	Releases Releases
	Text     string
}

// Error is the error in the words of a release; empty if that does not find it.
func (f Finding) Error(release Release) string {
	for _, e := range f.Errors {
		if e.Releases.Contains(release) {
			return e.Text
		}
	}
	return ""
}

// URL is the page of the rule.
func (f Finding) URL() string {
	return "https://github.com/managed-by-policy/managed-by-policy/blob/main/docs/rules/" + f.Rule + ".md"
}

// same says whether two findings differ in nothing but the releases.
func (f Finding) same(g Finding) bool {
	return f.Rule == g.Rule && f.Enforcement == g.Enforcement && f.Path == g.Path && f.Type == g.Type && f.Detail == g.Detail
}

// Denial is what the API servers of some releases answer.
type Denial struct {
	// Releases are those that give this answer.
	Releases Releases
	// Code is the HTTP status, such as 422.
	Code int32
	// Message is what the client reads: `Job.batch "pi" is invalid: ...`.
	Message string
}

// Findings are what the rules found, for each of the releases asked. The zero value is that nothing was found.
type Findings struct {
	// All are those that deny and those that warn, in the order in which the rules are documented.
	All []Finding
	// Denials are the answers of the releases that deny; empty if none does.
	Denials []Denial
}

// Denied says which of the releases asked deny.
func (f Findings) Denied() Releases {
	var releases Releases
	for _, denial := range f.Denials {
		releases = releases.with(denial.Releases)
	}
	return releases
}

// In gives the findings of one release, in its order.
func (f Findings) In(release Release) []Finding {
	var findings []Finding
	for _, finding := range f.All {
		if finding.Releases.Contains(release) {
			findings = append(findings, finding)
		}
	}
	return findings
}

// Err is nil if no release denies, else a [*DeniedError].
func (f Findings) Err() error {
	if len(f.Denials) == 0 {
		return nil
	}
	return &DeniedError{Findings: f}
}

// DeniedError says which releases deny, in their words.
type DeniedError struct {
	Findings Findings
}

// Error has a line for each different answer.
func (e *DeniedError) Error() string {
	lines := make([]string, len(e.Findings.Denials))
	for i, denial := range e.Findings.Denials {
		lines[i] = fmt.Sprintf("Kubernetes %v: %s", denial.Releases, denial.Message)
	}
	return strings.Join(lines, "\n")
}

// IsDenied says whether an error is, or wraps, a [*DeniedError].
func IsDenied(err error) bool {
	var denied *DeniedError
	return errors.As(err, &denied)
}
