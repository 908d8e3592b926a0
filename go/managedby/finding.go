package managedby

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
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
	// Type is the type of kube-apiserver's field.Error. Its String is what kube-apiserver prints: "Invalid value".
	Type field.ErrorType
	// Detail says what is wrong and, if possible, what is valid.
	Detail string
	// Suggestion is the value that was probably meant, to be written at Path; empty if there is none. Detail names it too.
	Suggestion string
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
	// Type is the type of kube-apiserver's field.Error.
	Type field.ErrorType
	// Text is the whole error.
	Text string
	// Detail says what is wrong and, if possible, what is valid.
	Detail string
}

// Error is the error in the words of a release; empty if that does not find it.
func (f Finding) Error(release Release) string {
	return f.error(release).Text
}

// error is the error of a release; the zero value if that does not find it.
func (f Finding) error(release Release) ReleaseError {
	for _, e := range f.Errors {
		if e.Releases.Contains(release) {
			return e
		}
	}
	return ReleaseError{}
}

// FieldError is the error as kube-apiserver of a release has it in its list; nil if that release does not find it. It prints as
// [Finding.Error] does.
func (f Finding) FieldError(release Release) *field.Error {
	e := f.error(release)
	if e.Text == "" {
		return nil
	}
	body := strings.TrimPrefix(e.Text, f.Path+": ")
	value := strings.TrimPrefix(strings.TrimPrefix(body, e.Type.String()), ": ")
	if e.Detail != "" {
		value = strings.TrimSuffix(strings.TrimSuffix(value, e.Detail), ": ")
	}
	return &field.Error{Type: e.Type, Field: f.Path, BadValue: badValue(value), Detail: e.Detail}
}

// badValue is a value that prints as kube-apiserver printed it; numbers, truth values and strings have their Go types.
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

// printed is a value of which only the text is known.
type printed string

// String gives the text, which field.Error prints of what has no JSON.
func (p printed) String() string { return string(p) }

// MarshalJSON fails, so that field.Error takes the text.
func (p printed) MarshalJSON() ([]byte, error) { return nil, errPrinted }

var errPrinted = errors.New("managedby: a value of which only the text is known")

var _ json.Marshaler = printed("")

// URL is the page of the rule.
func (f Finding) URL() string {
	return "https://github.com/managed-by-policy/managed-by-policy/blob/main/docs/rules/" + f.Rule + ".md"
}

// Denial is what the API servers of some releases answer.
type Denial struct {
	// Releases are those that give this answer.
	Releases Releases
	// Code is the HTTP status, such as 422.
	Code int32
	// Message is what the client reads: `Job.batch "pi" is invalid: ...`.
	Message string
	// Details name the object, and each error with its field and its type, as kube-apiserver does.
	Details *metav1.StatusDetails
}

// Status is the answer as the API server sends it: the ErrStatus of an apierrors.StatusError.
func (d Denial) Status() metav1.Status {
	return metav1.Status{
		Status: metav1.StatusFailure, Code: d.Code, Reason: reason(d.Code), Message: d.Message, Details: d.Details,
	}
}

// reason is the word that the API server has for a code.
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

// In gives the findings of one release, in its order, each with the type and the detail that this release has.
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

// ErrorList are the errors for which a release denies, as the validation of kube-apiserver returns them.
func (f Findings) ErrorList(release Release) field.ErrorList {
	var list field.ErrorList
	for _, finding := range f.All {
		if e := finding.FieldError(release); e != nil && finding.Enforcement == Deny {
			list = append(list, e)
		}
	}
	return list
}

// Err is nil if no release denies, else a [*DeniedError].
func (f Findings) Err() error {
	if len(f.Denials) == 0 {
		return nil
	}
	return &DeniedError{Findings: f}
}

// DeniedError says which releases deny, in their words. It is an apierrors.APIStatus, so that apierrors.IsInvalid and
// apierrors.HasStatusCause hold of it as of the API server's error.
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

// Status is the answer of the newest release that denies.
func (e *DeniedError) Status() metav1.Status {
	denied := e.Findings.Denied()
	for _, denial := range e.Findings.Denials {
		if denial.Releases.Contains(denied[len(denied)-1]) {
			return denial.Status()
		}
	}
	return metav1.Status{Status: metav1.StatusFailure, Message: e.Error()}
}

// IsDenied says whether an error is, or wraps, a [*DeniedError].
func IsDenied(err error) bool {
	var denied *DeniedError
	return errors.As(err, &denied)
}
