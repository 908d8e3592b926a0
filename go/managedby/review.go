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

// Verdict is the answer of the policy to one request.
type Verdict struct {
	// Allowed says whether the request may go on.
	Allowed bool
	// Code is the HTTP status of a denial: 422 for an invalid object, 403 for one that may not be written here or by this user,
	// 400 for a request that makes no sense.
	Code int32
	// Message is what the client reads when denied: kube-apiserver's words.
	Message string
	// Warnings are shown to the client either way.
	Warnings []string
	// AuditAnnotations are for the audit log.
	AuditAnnotations map[string]string
	// Findings are what the rules found, in the order in which they are documented.
	Findings []Finding
	// details belong to a denial.
	details *metav1.StatusDetails
}

// Response is the verdict as a webhook answers it to the request with that UID.
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

// Review gives the policy's answer to a request, with the policy's settings: what a policy server would answer. Whether the
// request makes sense is part of the answer. An error means that there is none, because the context ended, an object is not valid
// JSON, or the module failed.
func (p *Policy) Review(ctx context.Context, request *admissionv1.AdmissionRequest) (*Verdict, error) {
	if request == nil {
		return nil, errors.New("managedby: Review of no request")
	}
	judged, err := p.judge(ctx, request, nil)
	if err != nil {
		return nil, err
	}
	findings := judged.findings()
	return &Verdict{
		Allowed:          judged.Allowed,
		Code:             judged.Code,
		Message:          judged.Message,
		Warnings:         judged.Warnings,
		AuditAnnotations: judged.AuditAnnotations,
		Findings:         findings,
		details:          judged.details(request, findings),
	}, nil
}

// judgement is what the module says to a request, by docs/judgement.schema.json.
type judgement struct {
	answer
	Findings []struct {
		Rule        string      `json:"rule"`
		Enforcement Enforcement `json:"enforcement"`
		Upstream    bool        `json:"upstream"`
		Path        string      `json:"path"`
		Suggestion  string      `json:"suggestion"`
		told
		Texts []told `json:"texts"`
	} `json:"findings"`
	Opinions []answer `json:"opinions"`
}

// answer is what some releases answer, all the same; none are named if the settings chose.
type answer struct {
	Releases         Releases          `json:"releases"`
	Allowed          bool              `json:"allowed"`
	Code             int32             `json:"code"`
	Message          string            `json:"message"`
	Warnings         []string          `json:"warnings"`
	AuditAnnotations map[string]string `json:"auditAnnotations"`
}

// told is an error in the words of some releases.
type told struct {
	Releases Releases  `json:"releases"`
	Type     errorType `json:"type"`
	Text     string    `json:"text"`
	Detail   string    `json:"detail"`
}

// findings are the findings of the judgement, in its order.
func (j *judgement) findings() []Finding {
	all := make([]Finding, 0, len(j.Findings))
	for _, f := range j.Findings {
		if len(f.Texts) == 0 {
			f.Texts = []told{f.told}
		}
		found := Finding{
			Rule: f.Rule, Enforcement: f.Enforcement, Path: f.Path, Type: field.ErrorType(f.Type), Detail: f.Detail,
			Suggestion: f.Suggestion, Upstream: f.Upstream, Releases: f.Releases,
		}
		for _, t := range f.Texts {
			found.Errors = append(found.Errors, ReleaseError{t.Releases, field.ErrorType(t.Type), t.Text, t.Detail})
		}
		all = append(all, found)
	}
	return all
}

// errorType is a field.ErrorType by what it prints.
type errorType field.ErrorType

// errorTypes are those that rules find. (The validation of schemas has one more that prints "Invalid value".)
var errorTypes = [...]field.ErrorType{
	field.ErrorTypeInvalid, field.ErrorTypeRequired, field.ErrorTypeDuplicate, field.ErrorTypeTooLong, field.ErrorTypeNotSupported,
	field.ErrorTypeForbidden,
}

// UnmarshalText finds the type that prints so.
func (t *errorType) UnmarshalText(text []byte) error {
	for _, is := range errorTypes {
		if is.String() == string(text) {
			*t = errorType(is)
			return nil
		}
	}
	return fmt.Errorf("%q is no type of an error", text)
}

// details are those of a denial, with the errors that its releases find; nil if the answer is none.
func (a *answer) details(request *admissionv1.AdmissionRequest, findings []Finding) *metav1.StatusDetails {
	if a.Allowed {
		return nil
	}
	details := &metav1.StatusDetails{Group: request.Kind.Group, Kind: request.Kind.Kind, Name: request.Name}
	for _, f := range findings {
		for _, e := range f.Errors {
			isOurs := len(a.Releases) == 0 || slices.ContainsFunc(a.Releases, e.Releases.Contains)
			if f.Enforcement == Deny && isOurs {
				details.Causes = append(details.Causes, metav1.StatusCause{
					Type: metav1.CauseType(e.Type), Field: f.Path, Message: strings.TrimPrefix(e.Text, f.Path+": "),
				})
				break
			}
		}
	}
	return details
}

// judge evaluates the request for the releases. If there are none, it uses the settings unchanged.
func (p *Policy) judge(ctx context.Context, request *admissionv1.AdmissionRequest, releases Releases) (*judgement, error) {
	if err := p.made(); err != nil {
		return nil, err
	}
	question, err := question(request, releases, p.settings)
	if err != nil {
		return nil, err
	}
	answer, err := p.module.call(ctx, "judge", question)
	if err != nil {
		return nil, err
	}
	var judged judgement
	if err := json.Unmarshal(answer, &judged); err != nil {
		return nil, fmt.Errorf("managedby: the module's answer: %w", err)
	}
	return &judged, nil
}

// requestHeader is an AdmissionRequest without its objects. Kind comes first, so that the module knows it when it meets them.
type requestHeader struct {
	Kind               metav1.GroupVersionKind      `json:"kind"`
	UID                types.UID                    `json:"uid"`
	Resource           metav1.GroupVersionResource  `json:"resource"`
	SubResource        string                       `json:"subResource,omitempty"`
	RequestKind        *metav1.GroupVersionKind     `json:"requestKind,omitempty"`
	RequestResource    *metav1.GroupVersionResource `json:"requestResource,omitempty"`
	RequestSubResource string                       `json:"requestSubResource,omitempty"`
	Name               string                       `json:"name,omitempty"`
	Namespace          string                       `json:"namespace,omitempty"`
	Operation          admissionv1.Operation        `json:"operation"`
	UserInfo           any                          `json:"userInfo"`
	DryRun             *bool                        `json:"dryRun,omitempty"`
}

// question returns the input of the operation "judge": {"releases": [...], "review": {"request": ..., "settings": ...}}. It copies
// the objects unchanged, so that the module sees what a policy server sees.
func question(request *admissionv1.AdmissionRequest, releases Releases, settings json.RawMessage) ([]byte, error) {
	header, err := json.Marshal(requestHeader{
		Kind:               request.Kind,
		UID:                request.UID,
		Resource:           request.Resource,
		SubResource:        request.SubResource,
		RequestKind:        request.RequestKind,
		RequestResource:    request.RequestResource,
		RequestSubResource: request.RequestSubResource,
		Name:               request.Name,
		Namespace:          request.Namespace,
		Operation:          request.Operation,
		UserInfo:           request.UserInfo,
		DryRun:             request.DryRun,
	})
	if err != nil {
		return nil, fmt.Errorf("managedby: the request: %w", err)
	}
	members := [...]struct {
		name string
		raw  []byte
	}{{"object", request.Object.Raw}, {"oldObject", request.OldObject.Raw}, {"options", request.Options.Raw}}
	if members[0].raw, err = raw(request.Object); err == nil {
		members[1].raw, err = raw(request.OldObject)
	}
	if err != nil {
		return nil, err
	}

	size := len(header) + len(settings) + len(releases)*7 + 64
	for _, member := range members {
		size += len(member.raw) + len(member.name) + 4
	}
	q := bytes.NewBuffer(make([]byte, 0, size))
	q.WriteString(`{"releases":[`)
	for i, release := range releases {
		if i > 0 {
			q.WriteByte(',')
		}
		q.WriteString(strconv.Quote(string(release)))
	}
	q.WriteString(`],"review":{"request":`)
	q.Write(bytes.TrimSuffix(header, []byte("}")))
	for _, member := range members {
		if len(member.raw) > 0 {
			q.WriteString(`,"` + member.name + `":`)
			q.Write(member.raw)
		}
	}
	q.WriteString(`},"settings":`)
	q.Write(settings)
	q.WriteString("}}")
	return q.Bytes(), nil
}

// all are the findings of the judgement, and its denials.
func (j *judgement) all(request *admissionv1.AdmissionRequest) Findings {
	all := Findings{All: j.findings()}
	for _, o := range j.Opinions {
		if !o.Allowed {
			all.Denials = append(all.Denials, Denial{o.Releases, o.Code, o.Message, o.details(request, all.All)})
		}
	}
	return all
}
