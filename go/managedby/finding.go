package managedby

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Enforcement is the level of a rule or finding.
type Enforcement string

// Levels of findings.
const (
	Deny Enforcement = "deny"
	Warn Enforcement = "warn"
)

// Finding is a problem that a rule found in a field.
type Finding struct {
	// Rule is the rule's id, such as "job-status/ready-exceeds-active".
	Rule string
	// Enforcement is the level: deny or warn.
	Enforcement Enforcement
	// Path is the path of the field in kube-apiserver's format.
	Path string
	// Type is the type of kube-apiserver's field.Error. Its String is the printed form, such as "Invalid value".
	Type field.ErrorType
	// Detail describes the problem and, if possible, the valid values.
	Detail string
	// Suggestion is the suggested value for Path; empty if there is none. Detail contains it too.
	Suggestion string
	// Upstream is true if the rule is kube-apiserver's, and false if it is this project's own.
	Upstream bool
	// Releases are the releases that report this finding. [Policy.Review] sets it only if the settings set no release and not all
	// releases do.
	Releases Releases
	// Errors are the complete errors. Releases with the same message share one. A finding of [Policy.Review] has one error.
	Errors []ReleaseError
}

// ReleaseError is the error that some releases return.
type ReleaseError struct {
	// Releases are the releases with this error. It is empty if the finding's Releases is.
	Releases Releases
	// Type is the type of kube-apiserver's field.Error.
	Type field.ErrorType
	// Message is the complete error.
	Message string
	// Detail describes the problem and, if possible, the valid values.
	Detail string
}

// Error returns the error of a release, or an empty string if the release does not report the finding. If Releases is empty, it
// returns the only error for every release.
func (f Finding) Error(release Release) string {
	return f.error(release).Message
}

// error returns the error of a release, or the zero value if the release does not report the finding.
func (f Finding) error(release Release) ReleaseError {
	for _, e := range f.Errors {
		if len(e.Releases) == 0 || e.Releases.Contains(release) {
			return e
		}
	}
	return ReleaseError{}
}

// FieldError returns the error in kube-apiserver's type, or nil if the release does not report the finding. It prints like
// [Finding.Error].
func (f Finding) FieldError(release Release) *field.Error {
	e := f.error(release)
	if e.Message == "" {
		return nil
	}
	body := strings.TrimPrefix(e.Message, f.Path+": ")
	value := strings.TrimPrefix(strings.TrimPrefix(body, e.Type.String()), ": ")
	if e.Detail != "" {
		value = strings.TrimSuffix(strings.TrimSuffix(value, e.Detail), ": ")
	}
	return &field.Error{Type: e.Type, Field: f.Path, BadValue: badValue(value), Detail: e.Detail}
}

// badValue returns a value that prints as in kube-apiserver. Numbers, booleans and strings have their Go types.
func badValue(text string) any {
	if text == "" {
		return field.OmitValueType{}
	}
	if number, err := strconv.ParseInt(text, 10, 64); err == nil {
		return number
	}
	if text == "true" || text == "false" {
		return text == "true"
	}
	if unquoted, err := strconv.Unquote(text); err == nil && strconv.Quote(unquoted) == text {
		return unquoted
	}
	return printed(text)
}

// printed is a value that is only known in its printed form.
type printed string

// String returns the text, which field.Error prints if MarshalJSON fails.
func (p printed) String() string { return string(p) }

// MarshalJSON returns an error, so that field.Error prints the String.
func (p printed) MarshalJSON() ([]byte, error) { return nil, errPrinted }

var errPrinted = errors.New("managedby: only the printed form of the value is known")

// URL returns the URL of the rule's page at the tag of this version. The page is in the directory of the rule's family.
func (f Finding) URL() string {
	family, name, _ := strings.Cut(f.Rule, "/")
	return pages + strings.ReplaceAll(family, "-", "_") + "/" + name + ".md"
}

// pages is the directory with a directory for each family of rules.
const pages = "https://github.com/managed-by-policy/managed-by-policy/blob/v" + Version + "/crates/managed-by/src/rule/"

// Denial is the response of some releases to a denied request.
type Denial struct {
	// Releases are the releases with this response.
	Releases Releases
	// Code is the HTTP status, such as 422.
	Code int32
	// Message is the message for the client: `Job.batch "pi" is invalid: ...`.
	Message string
	// Details contain the object's name, and field and type of each error, as in kube-apiserver.
	Details *metav1.StatusDetails
}

// Status returns the response as the API server sends it: the ErrStatus of an apierrors.StatusError.
func (d Denial) Status() metav1.Status {
	return metav1.Status{
		Status: metav1.StatusFailure, Code: d.Code, Reason: reason(d.Code), Message: d.Message, Details: d.Details,
	}
}

// reason returns the API server's reason for a code.
func reason(code int32) metav1.StatusReason {
	switch code {
	case http.StatusUnprocessableEntity:
		return metav1.StatusReasonInvalid
	case http.StatusForbidden:
		return metav1.StatusReasonForbidden
	case http.StatusBadRequest:
		return metav1.StatusReasonBadRequest
	default:
		return metav1.StatusReasonUnknown
	}
}

// Findings are the findings for the evaluated releases. The zero value has none.
type Findings struct {
	// All contains the findings that deny and those that warn, in the documented order of the rules.
	All []Finding
	// Denials are the responses of the releases that deny; empty if none does.
	Denials []Denial
	// Evaluated is true if the policy has rules for the kind of the object.
	Evaluated bool
	// Unchecked contains the parts that were not evaluated.
	Unchecked []Unchecked
	// Controller is the external controller that managedBy names; empty if there is none.
	Controller string
}

// Denied returns the releases that deny.
func (f Findings) Denied() Releases {
	var releases Releases
	for _, denial := range f.Denials {
		releases = releases.with(denial.Releases)
	}
	return releases
}

// In returns the findings of one release in the order of All, with the release's types and details.
func (f Findings) In(release Release) []Finding {
	var findings []Finding
	for _, finding := range f.All {
		if finding.Releases.Contains(release) {
			e := finding.error(release)
			finding.Type, finding.Detail = e.Type, e.Detail
			findings = append(findings, finding)
		}
	}
	return findings
}

// ErrorList returns the errors for which a release denies, like kube-apiserver's validation.
func (f Findings) ErrorList(release Release) field.ErrorList {
	var list field.ErrorList
	for _, finding := range f.All {
		if e := finding.FieldError(release); e != nil && finding.Enforcement == Deny {
			list = append(list, e)
		}
	}
	return list
}

// Err returns a [*DeniedError], or nil if no release denies.
func (f Findings) Err() error {
	if len(f.Denials) == 0 {
		return nil
	}
	return &DeniedError{Findings: f}
}

// DeniedError contains the releases that deny with their messages. It implements apierrors.APIStatus, so apierrors.IsInvalid and
// apierrors.HasStatusCause work as on the API server's error.
type DeniedError struct {
	Findings Findings
}

// Error returns one line per distinct response.
func (e *DeniedError) Error() string {
	lines := make([]string, len(e.Findings.Denials))
	for i, denial := range e.Findings.Denials {
		lines[i] = fmt.Sprintf("Kubernetes %v: %s", denial.Releases, denial.Message)
	}
	return strings.Join(lines, "\n")
}

// Status returns the response of the newest release that denies.
func (e *DeniedError) Status() metav1.Status {
	denied := e.Findings.Denied()
	for _, denial := range e.Findings.Denials {
		if denial.Releases.Contains(denied[len(denied)-1]) {
			return denial.Status()
		}
	}
	return metav1.Status{Status: metav1.StatusFailure, Message: e.Error()}
}

// IsDenied reports whether an error is, or wraps, a [*DeniedError].
func IsDenied(err error) bool {
	var denied *DeniedError
	return errors.As(err, &denied)
}
