package conformance

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// APIVersion is the API version of [Report].
const APIVersion = "conformance.managed-by-policy.github.io/v1alpha1"

// Report is the result of a run. It has the form of the ConformanceReport of Gateway API.
type Report struct {
	metav1.TypeMeta `json:",inline"`
	Implementation  Implementation `json:"implementation"`
	// Date is the time of the report, in RFC 3339.
	Date string `json:"date"`
	// Controller is the value of managedBy, or the Job controller's reserved value if the Jobs had none.
	Controller string `json:"controller"`
	// KubernetesVersion is the version of the API server.
	KubernetesVersion string `json:"kubernetesVersion"`
	// SuiteVersion is the version of `managed-by`, which evaluated the writes.
	SuiteVersion string `json:"suiteVersion"`
	// Run contains the options of the run. The same seed creates the same Jobs.
	Run RunOptions `json:"run"`
	// Releases are the evaluated releases of kube-apiserver. A release with a patch number is the last one with its rules.
	Releases  Releases  `json:"releases"`
	Recording Recording `json:"recording"`
	// Writes is the number of accepted writes, of which StatusWrites changed the status.
	Writes       int `json:"writes"`
	StatusWrites int `json:"statusWrites"`
	// RejectedWrites is the number of writes that the API server rejected, without conflicts and the like, or "unknown" without an audit log.
	RejectedWrites intstr.IntOrString `json:"rejectedWrites"`
	Profiles       []ProfileReport    `json:"profiles"`
	Tests          []TestReport       `json:"tests"`
}

// Releases are names of releases, separated by commas, as for `managed-by --kubernetes`.
type Releases string

// Implementation describes the tested controller.
type Implementation struct {
	Organization string `json:"organization"`
	Project      string `json:"project"`
	URL          string `json:"url"`
	Version      string `json:"version"`
	// Contact lists GitHub users, email addresses or a support page.
	Contact []string `json:"contact"`
}

// name matches the names of a report's file.
var name = regexp.MustCompile(`^[\w.-]+$`)

// Validate returns an error if a field is missing or invalid.
func (i *Implementation) Validate() error {
	if i.Organization == "" || i.Project == "" || i.URL == "" || i.Version == "" || len(i.Contact) == 0 {
		return errors.New("a report needs the organization, project, url, version and contact of the implementation")
	}
	for _, value := range []string{i.Organization, i.Project, i.Version} {
		if !name.MatchString(value) {
			return fmt.Errorf("%q is not a file name", value)
		}
	}
	if address, err := url.Parse(i.URL); err != nil || address.Scheme != "https" || address.String() != i.URL {
		return fmt.Errorf("%q is not an https URL", i.URL)
	}
	return nil
}

// RunOptions determine the Jobs: the version of this module, and [Options].
type RunOptions struct {
	Version string            `json:"version"`
	Seed    uint64            `json:"seed"`
	Image   string            `json:"image"`
	Timeout string            `json:"timeout"`
	Labels  map[string]string `json:"labels,omitempty"`
}

// Recording describes the evaluated writes.
type Recording struct {
	// Source is "audit-log", or "watch", which lacks rejected writes.
	Source string `json:"source"`
	// Records is the number of lines.
	Records int    `json:"records"`
	SHA256  string `json:"sha256"`
}

// ProfileReport contains the results of Core and of the extended features.
type ProfileReport struct {
	Name     string          `json:"name"`
	Summary  string          `json:"summary"`
	Core     Status          `json:"core"`
	Extended *ExtendedStatus `json:"extended,omitempty"`
}

// ExtendedStatus is the result of the extended features.
type ExtendedStatus struct {
	Status              `json:",inline"`
	SupportedFeatures   []string `json:"supportedFeatures,omitempty"`
	UnsupportedFeatures []string `json:"unsupportedFeatures,omitempty"`
}

// Status is the result of several tests.
type Status struct {
	Result       Result     `json:"result"`
	Statistics   Statistics `json:"statistics"`
	SkippedTests []string   `json:"skippedTests,omitempty"`
	FailedTests  []string   `json:"failedTests,omitempty"`
}

// Statistics counts tests by result.
type Statistics struct {
	Passed  int `json:"passed"`
	Partial int `json:"partial"`
	Skipped int `json:"skipped"`
	Failed  int `json:"failed"`
}

// Result is the result of one test or several.
type Result string

const (
	// Success means that the controller conforms to each evaluated release, and that an audit log shows that no write was rejected.
	Success Result = "success"
	// Partial means that the controller conforms only to some releases, that rejected writes were not recorded, or that tests were skipped.
	Partial Result = "partial"
	// Failure means that the controller conforms to no evaluated release.
	Failure Result = "failure"
	// Skipped means that the test did not run.
	Skipped Result = "skipped"
)

// TestReport is the result of a test.
type TestReport struct {
	Name   string `json:"name"`
	Result Result `json:"result"`
	// ConformsTo lists the releases with all the required transitions and rules, and without a denied write. It is empty if a write was
	// rejected, a Job is unfinished, or a finding is not about a denied write.
	ConformsTo Releases `json:"conformsTo,omitempty"`
	// Missing lists the ids of the transitions and rules of the profile that no write exercised in a release that has them.
	Missing  []string      `json:"missing,omitempty"`
	Findings []TestFinding `json:"findings,omitempty"`
	// Warnings are writes that the API server accepts, although they are probably mistakes. They don't change the result.
	Warnings []TestFinding `json:"warnings,omitempty"`
}

// TestFinding is a reason why a controller does not conform.
type TestFinding struct {
	// Type is "denied", "rejected", "unfinished", "error" if the test could not make a request, or what is wrong with an accepted write:
	// "outcome", "foreign" (a Job of another controller changed), "spec" (what the user wants changed), "late" (the status changed after the
	// end), "deleted", "time" or "warning".
	Type string `json:"type"`
	// Job is the name of the Job in the test, such as "complete".
	Job string `json:"job,omitempty"`
	// Rule is the id of the violated rule, if it is known.
	Rule string `json:"rule,omitempty"`
	// Releases are the affected releases, if not all of the report.
	Releases Releases `json:"releases,omitempty"`
	// Count is the number of writes.
	Count   int    `json:"count,omitempty"`
	Message string `json:"message"`
}
