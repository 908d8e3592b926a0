package managedby

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Verdict is the policy's verdict on a request.
type Verdict struct {
	// Allowed is true if the request is allowed.
	Allowed bool
	// Code is the HTTP status of a denial: 422 for an invalid object, 403 for a write that is forbidden in the namespace or to the
	// user, 400 for a malformed request, 503 for a pod whose Job could not be looked up.
	Code int32
	// Message is the message for the client if denied, in kube-apiserver's format.
	Message string
	// Warnings are warnings for the client.
	Warnings []string
	// AuditAnnotations are annotations for the audit log.
	AuditAnnotations map[string]string
	// Findings are the findings in the documented order of the rules.
	Findings []Finding
	// Unchecked are the parts of the request that were not evaluated. Without findings, only the other parts are fine.
	Unchecked []Unchecked
	// details are the details of a denial.
	details *metav1.StatusDetails
}

// Unchecked is a part of a request that was not evaluated.
type Unchecked struct {
	// Path is the path of the part, from the root of the object. It is empty for the whole object.
	Path string `json:"path"`
	// Reason is the reason, such as "unsupported-kind". docs/evaluation.schema.json lists all.
	Reason string `json:"reason"`
	// Message is the path and the reason for people.
	Message string `json:"message"`
}

// Response converts the verdict to a webhook's response to the request with the UID.
func (v *Verdict) Response(uid types.UID) *admissionv1.AdmissionResponse {
	response := &admissionv1.AdmissionResponse{
		UID:              uid,
		Allowed:          v.Allowed,
		Warnings:         v.Warnings,
		AuditAnnotations: v.AuditAnnotations,
	}
	if !v.Allowed {
		status := Denial{Code: v.Code, Message: v.Message, Details: v.details}.Status()
		response.Result = &status
	}
	return response
}

// Review returns the verdict that a policy server with the policy's settings would return. A malformed request is denied. An error
// means that there is no verdict, because the context is done, an object is not valid JSON, or the module failed. Review cannot look
// up the Job of a pod.
func (p *Policy) Review(ctx context.Context, request *admissionv1.AdmissionRequest) (*Verdict, error) {
	if request == nil {
		return nil, errors.New("managedby: review: request is nil")
	}
	evaluated, err := p.evaluate(ctx, request, nil)
	if err != nil {
		return nil, err
	}
	findings := evaluated.findings()
	return &Verdict{
		Allowed:          evaluated.Allowed,
		Code:             evaluated.Code,
		Message:          evaluated.Message,
		Warnings:         evaluated.Warnings,
		AuditAnnotations: evaluated.AuditAnnotations,
		Findings:         findings,
		Unchecked:        evaluated.Unchecked,
		details:          evaluated.details(request, findings),
	}, nil
}

// evaluation is the module's response to a request, see docs/evaluation.schema.json.
type evaluation struct {
	releaseVerdict
	Findings []struct {
		Rule        string      `json:"rule"`
		Enforcement Enforcement `json:"enforcement"`
		Upstream    bool        `json:"upstream"`
		Path        string      `json:"path"`
		Suggestion  string      `json:"suggestion"`
		releaseError
		Messages []releaseError `json:"messages"`
	} `json:"findings"`
	Unchecked       []Unchecked      `json:"unchecked"`
	ReleaseVerdicts []releaseVerdict `json:"releaseVerdicts"`
}

// releaseVerdict is the verdict that some releases share. Releases is empty in the merged verdict of an [evaluation].
type releaseVerdict struct {
	Releases         Releases          `json:"releases"`
	Allowed          bool              `json:"allowed"`
	Code             int32             `json:"code"`
	Message          string            `json:"message"`
	Warnings         []string          `json:"warnings"`
	AuditAnnotations map[string]string `json:"auditAnnotations"`
}

// releaseError is an error that some releases share.
type releaseError struct {
	Releases Releases  `json:"releases"`
	Type     errorType `json:"type"`
	Message  string    `json:"message"`
	Detail   string    `json:"detail"`
}

// findings returns the findings of the evaluation in its order.
func (e *evaluation) findings() []Finding {
	all := make([]Finding, 0, len(e.Findings))
	for _, f := range e.Findings {
		if len(f.Messages) == 0 {
			f.Messages = []releaseError{f.releaseError}
		}
		found := Finding{
			Rule: f.Rule, Enforcement: f.Enforcement, Path: f.Path, Type: field.ErrorType(f.Type), Detail: f.Detail,
			Suggestion: f.Suggestion, Upstream: f.Upstream, Releases: f.Releases,
		}
		for _, t := range f.Messages {
			found.Errors = append(found.Errors, ReleaseError{t.Releases, field.ErrorType(t.Type), t.Message, t.Detail})
		}
		all = append(all, found)
	}
	return all
}

// errorType is a field.ErrorType that is decoded from its printed form.
type errorType field.ErrorType

// errorTypes are the types that rules use. (Schema validation has another type that prints "Invalid value".)
var errorTypes = [...]field.ErrorType{
	field.ErrorTypeInvalid, field.ErrorTypeRequired, field.ErrorTypeDuplicate, field.ErrorTypeTooLong, field.ErrorTypeNotSupported,
	field.ErrorTypeForbidden,
}

// UnmarshalText sets the type with the given printed form.
func (t *errorType) UnmarshalText(text []byte) error {
	for _, errType := range errorTypes {
		if errType.String() == string(text) {
			*t = errorType(errType)
			return nil
		}
	}
	return fmt.Errorf("unknown error type %q", text)
}

// details returns the details of a denial with the errors of its releases, or nil if the request is allowed.
func (v *releaseVerdict) details(request *admissionv1.AdmissionRequest, findings []Finding) *metav1.StatusDetails {
	if v.Allowed {
		return nil
	}
	details := &metav1.StatusDetails{Group: request.Kind.Group, Kind: request.Kind.Kind, Name: request.Name}
	for _, f := range findings {
		for _, e := range f.Errors {
			matchesVerdict := len(v.Releases) == 0 || slices.ContainsFunc(v.Releases, e.Releases.Contains)
			if f.Enforcement == Deny && matchesVerdict {
				details.Causes = append(details.Causes, metav1.StatusCause{
					Type: metav1.CauseType(e.Type), Field: f.Path, Message: strings.TrimPrefix(e.Message, f.Path+": "),
				})
				break
			}
		}
	}
	return details
}

// evaluate evaluates the request for the releases. If there are none, it uses the settings unchanged.
func (p *Policy) evaluate(ctx context.Context, request *admissionv1.AdmissionRequest, releases Releases) (*evaluation, error) {
	if err := p.checkInitialized(); err != nil {
		return nil, err
	}
	input, err := evaluateInput(request, releases, p.settings)
	if err != nil {
		return nil, err
	}
	response, err := p.module.call(ctx, "evaluate", input)
	if err != nil {
		return nil, err
	}
	var evaluated evaluation
	if err := json.Unmarshal(response, &evaluated); err != nil {
		return nil, fmt.Errorf("managedby: decode the module's response: %w", err)
	}
	return &evaluated, nil
}

// evaluateInput returns the input of the operation "evaluate". In the JSON of a request, the kind comes first, because the module decodes the
// objects by kind.
func evaluateInput(request *admissionv1.AdmissionRequest, releases Releases, settings json.RawMessage) ([]byte, error) {
	type review struct {
		Request  *admissionv1.AdmissionRequest `json:"request"`
		Settings json.RawMessage               `json:"settings"`
	}
	var input bytes.Buffer
	encoder := json.NewEncoder(&input)
	// The module gets the texts that a policy server gets.
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(struct {
		Releases Releases `json:"releases,omitempty"`
		Review   review   `json:"review"`
	}{releases, review{request, settings}})
	if err != nil {
		return nil, fmt.Errorf("managedby: encode the request: %w", err)
	}
	return input.Bytes(), nil
}

// toFindings returns the findings and denials of the evaluation.
func (e *evaluation) toFindings(request *admissionv1.AdmissionRequest) Findings {
	all := Findings{All: e.findings(), Unchecked: e.Unchecked}
	for _, o := range e.ReleaseVerdicts {
		// The policy annotates changes of the kinds that it has rules for, unless they are malformed.
		_, hasMode := o.AuditAnnotations["mode"]
		all.Evaluated = all.Evaluated || hasMode || !o.Allowed
		// The annotation is quoted as in Go.
		if name, err := strconv.Unquote(o.AuditAnnotations["controller"]); err == nil {
			all.Controller = name
		}
		if !o.Allowed {
			all.Denials = append(all.Denials, Denial{o.Releases, o.Code, o.Message, o.details(request, all.All)})
		}
	}
	return all
}
