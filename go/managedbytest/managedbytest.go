// Package managedbytest contains assertions that fail a test with kube-apiserver's error if kube-apiserver would deny a write.
//
//	func TestStatusOfFinishedJob(t *testing.T) {
//		managedbytest.AssertStatusUpdate(t, running, finished(running, end), managedby.Since(managedby.V1_31))
//	}
//
// For reconcilers see the module managedbyclient, which checks every write of a client.
package managedbytest

import (
	"context"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/managed-by-policy/managed-by-policy/go/managedby"
)

// T is the subset of [testing.TB] that this package and managedbyclient use.
type T interface {
	Helper()
	Context() context.Context
	Cleanup(f func())
	Errorf(format string, args ...any)
	Logf(format string, args ...any)
}

// AssertCreate fails the test unless all the releases accept managedBy of the new Job. It logs the other fields of the spec as not checked.
func AssertCreate(t T, job *batchv1.Job, releases managedby.Releases) bool {
	t.Helper()
	if job == nil {
		t.Errorf("AssertCreate: job is nil")
		return false
	}
	return assert(t, "Create", &batchv1.Job{}, job, releases, func(ctx context.Context, p *managedby.Policy) (managedby.Findings, error) {
		return p.CheckCreate(ctx, job)
	})
}

// AssertUpdate fails the test unless all the releases accept the update of managedBy and, in a suspended Job, of the scheduling directives.
// It logs all changed fields of the spec except managedBy as not checked, and ignores the status.
func AssertUpdate(t T, old, new *batchv1.Job, releases managedby.Releases) bool {
	t.Helper()
	if !checkPair(t, "AssertUpdate", old, new) {
		return false
	}
	return assert(t, "Update", old, new, releases, func(ctx context.Context, p *managedby.Policy) (managedby.Findings, error) {
		return p.CheckUpdate(ctx, old, new)
	})
}

// AssertStatusUpdate fails the test unless all the releases accept the update of the Job's status. It prints warnings from this
// project's own rules.
func AssertStatusUpdate(t T, old, new *batchv1.Job, releases managedby.Releases) bool {
	t.Helper()
	if !checkPair(t, "AssertStatusUpdate", old, new) {
		return false
	}
	return assert(t, "Update of the status", new, new, releases, func(ctx context.Context, p *managedby.Policy) (managedby.Findings, error) {
		return p.CheckStatusUpdate(ctx, old, new)
	})
}

// checkPair fails the test if a Job is nil, or if old and new are the same object.
func checkPair(t T, caller string, old, new *batchv1.Job) bool {
	t.Helper()
	problem := ""
	switch {
	case old == nil:
		problem = "old is nil: pass the stored Job. Before the first status, that is a Job with an empty status"
	case new == nil:
		problem = "new is nil: pass the Job that the controller writes"
	case old == new:
		problem = "old and new are the same object: pass a DeepCopy of the Job from before the change as old"
	default:
		return true
	}
	t.Errorf("%s: %s", caller, problem)
	return false
}

func assert(t T, what string, old, job *batchv1.Job, releases managedby.Releases, check func(context.Context, *managedby.Policy) (managedby.Findings, error)) bool {
	t.Helper()
	policy, err := managedby.New(t.Context(), managedby.WithReleases(releases...))
	if err != nil {
		t.Errorf("%v", err)
		return false
	}
	findings, err := check(t.Context(), policy)
	if err != nil {
		t.Errorf("%v", err)
		return false
	}
	what = fmt.Sprintf("%s of Job %s/%s", what, job.Namespace, job.Name)
	ok := Report(t, what, findings)
	before, after := reflect.ValueOf(old.Spec), reflect.ValueOf(job.Spec)
	for i := range before.NumField() {
		name, _, _ := strings.Cut(before.Type().Field(i).Tag.Get("json"), ",")
		if name != "managedBy" && !reflect.DeepEqual(before.Field(i).Interface(), after.Field(i).Interface()) {
			t.Logf("%s: spec.%s: not checked, kube-apiserver may reject it", what, name)
		}
	}
	// go test hides the log of a test that passes. For a list of packages, it hides standard error too.
	if _, notes := describe(findings); ok && testing.Testing() && !testing.Verbose() {
		for _, note := range notes {
			fmt.Fprintf(os.Stderr, "managed-by-policy: %s: %s\n", what, note)
		}
	}
	return ok
}

// Report fails the test if a finding is a denial: from kube-apiserver's rules in one of the releases or a known early patch release, or
// from this project's rules under the policy's settings. It logs findings that only warn. It returns true if the test does not fail.
func Report(t T, what string, findings managedby.Findings) bool {
	t.Helper()
	failures, notes := describe(findings)
	for _, note := range notes {
		t.Logf("%s: %s", what, note)
	}
	if len(failures) > 0 {
		t.Errorf("%s:\n%s", what, strings.Join(failures, "\n"))
	}
	return len(failures) == 0
}

// describe returns the messages for failures and for warnings.
func describe(findings managedby.Findings) (failures, notes []string) {
	for _, denial := range findings.Denials {
		failures = append(failures, fmt.Sprintf("    Kubernetes %v: %s", denial.Releases, denial.Message))
	}
	var pages []string
	for _, finding := range findings.All {
		if finding.Enforcement != managedby.Deny {
			newest := finding.Releases[len(finding.Releases)-1]
			text := fmt.Sprintf("Kubernetes %v: %s", finding.Releases, finding.Error(newest))
			if !finding.Upstream {
				notes = append(notes, text)
				continue
			}
			failures = append(failures, "    "+text)
		}
		page := fmt.Sprintf("    %s: %s", finding.Rule, finding.URL())
		if !slices.Contains(pages, page) {
			pages = append(pages, page)
		}
	}
	return append(failures, pages...), notes
}
