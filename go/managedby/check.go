package managedby

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// StatusSubresource is the name of the status subresource.
const StatusSubresource = "status"

// Change is a write by a client, with the objects as the client sends them. Like the API server, [Policy.Check] ignores the status
// in a write of the main resource, and all fields other than metadata and status in a write of the status.
type Change struct {
	// Operation is Create or Update.
	Operation admissionv1.Operation
	// SubResource is empty for the main resource, or [StatusSubresource].
	SubResource string
	// Kind is the kind of the objects. If it is empty, it is taken from their TypeMeta, or from the scheme by their Go type
	// ([WithScheme]).
	Kind schema.GroupVersionKind
	// Object is the new object.
	Object runtime.Object
	// OldObject is the stored object; nil for Create.
	OldObject runtime.Object
}

var jobKind = batchv1.SchemeGroupVersion.WithKind("Job")

// CheckCreate checks the creation of a Job. It ignores the status, like the API server.
func (p *Policy) CheckCreate(ctx context.Context, job *batchv1.Job) (Findings, error) {
	return p.Check(ctx, Change{Operation: admissionv1.Create, Kind: jobKind, Object: job})
}

// CheckUpdate checks an update of a Job. It ignores the status, like the API server.
func (p *Policy) CheckUpdate(ctx context.Context, oldJob, newJob *batchv1.Job) (Findings, error) {
	return p.Check(ctx, Change{Operation: admissionv1.Update, Kind: jobKind, Object: newJob, OldObject: oldJob})
}

// CheckStatusUpdate checks an update of a Job's status from oldJob to newJob. The API server returns the same errors for
// Status().Update(ctx, newJob), and for a patch with the same result.
func (p *Policy) CheckStatusUpdate(ctx context.Context, oldJob, newJob *batchv1.Job) (Findings, error) {
	return p.Check(ctx, Change{
		Operation: admissionv1.Update, SubResource: StatusSubresource, Kind: jobKind, Object: newJob, OldObject: oldJob,
	})
}

// Check checks a change of any kind that the policy supports, built in or declared in the settings. Other kinds are accepted without
// findings.
func (p *Policy) Check(ctx context.Context, change Change) (Findings, error) {
	if err := p.checkInitialized(); err != nil {
		return Findings{}, err
	}
	request, err := p.request(change)
	if err != nil {
		return Findings{}, err
	}
	findings, err := p.CheckRequest(ctx, request)
	for i, denial := range findings.Denials {
		// The request exists only here.
		if text, isMalformed := strings.CutPrefix(denial.Message, "malformed admission request: request."); isMalformed {
			findings.Denials[i].Message = strings.TrimPrefix(text, "object.")
		}
	}
	return findings, err
}

// CheckRequest checks a request as the API server sends it to a webhook, for the releases of the policy. [Policy.Review] returns the
// verdict of a policy in a cluster.
func (p *Policy) CheckRequest(ctx context.Context, request *admissionv1.AdmissionRequest) (Findings, error) {
	if request == nil {
		return Findings{}, errors.New("managedby: CheckRequest: request is nil")
	}
	evaluated, err := p.evaluate(ctx, request, p.releases)
	if err != nil {
		return Findings{}, err
	}
	return evaluated.toFindings(request), nil
}

// request converts the change to the request that the API server would send to a webhook.
func (p *Policy) request(change Change) (*admissionv1.AdmissionRequest, error) {
	if isNil(change.Object) {
		return nil, errors.New("managedby: Change.Object is nil")
	}
	if isNil(change.OldObject) {
		change.OldObject = nil
	}
	switch {
	case change.Operation == admissionv1.Create && change.OldObject == nil && change.SubResource == "":
	case change.Operation == admissionv1.Update && change.OldObject != nil && (change.SubResource == "" || change.SubResource == StatusSubresource):
	default:
		return nil, fmt.Errorf("managedby: unsupported change: operation %q, subresource %q, OldObject set: %t: must be %s without subresource and OldObject, or %s with OldObject and subresource \"\" or \"status\"",
			change.Operation, change.SubResource, change.OldObject != nil, admissionv1.Create, admissionv1.Update)
	}
	kind, err := p.kind(change)
	if err != nil {
		return nil, err
	}
	object, err := meta.Accessor(change.Object)
	if err != nil {
		return nil, fmt.Errorf("managedby: Change.Object: %w", err)
	}
	request := &admissionv1.AdmissionRequest{
		Kind:        metav1.GroupVersionKind(kind),
		SubResource: change.SubResource,
		Name:        object.GetName(),
		Namespace:   object.GetNamespace(),
		Operation:   change.Operation,
		UserInfo:    p.user,
	}
	if request.Object.Raw, request.OldObject.Raw, err = marshalObjects(change); err != nil {
		return nil, fmt.Errorf("managedby: marshal objects: %w", err)
	}
	return request, nil
}

// isNil reports whether an object is nil or a nil pointer.
func isNil(obj runtime.Object) bool {
	value := reflect.ValueOf(obj)
	return !value.IsValid() || value.Kind() == reflect.Pointer && value.IsNil()
}

// kind returns the kind of a change's objects: from the change, from their TypeMeta, or from the scheme. TypeMeta is often empty in
// objects that a client returned.
func (p *Policy) kind(change Change) (schema.GroupVersionKind, error) {
	for _, kind := range []schema.GroupVersionKind{change.Kind, change.Object.GetObjectKind().GroupVersionKind()} {
		if kind.Version != "" && kind.Kind != "" {
			return kind, nil
		}
	}
	scheme := p.scheme
	if scheme == nil {
		scheme = jobScheme
	}
	kinds, _, err := scheme.ObjectKinds(change.Object)
	if err != nil {
		return schema.GroupVersionKind{}, fmt.Errorf(
			"managedby: unknown kind of %T: set Change.Kind or the object's TypeMeta, or pass a scheme that registers the type to WithScheme: %w", change.Object, err)
	}
	return kinds[0], nil
}

// jobScheme is the default scheme of a policy.
var jobScheme = func() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(batchv1.AddToScheme(scheme))
	return scheme
}()

// marshalObjects returns the JSON of both objects in the form that the API server sends to webhooks.
func marshalObjects(change Change) (object, old []byte, err error) {
	var newFields, oldFields map[string]json.RawMessage
	if newFields, _, err = toFields(change.Object); err != nil {
		return nil, nil, err
	}
	if change.OldObject == nil {
		delete(newFields, StatusSubresource)
		object, err = json.Marshal(newFields)
		return object, nil, err
	}
	if oldFields, old, err = toFields(change.OldObject); err != nil {
		return nil, nil, err
	}
	for name := range newFields {
		if name != "metadata" && (name == StatusSubresource) != (change.SubResource == StatusSubresource) {
			delete(newFields, name)
		}
	}
	for name, value := range oldFields {
		if name != "metadata" && (name == StatusSubresource) != (change.SubResource == StatusSubresource) {
			newFields[name] = value
		}
	}
	object, err = json.Marshal(newFields)
	return object, old, err
}

func toFields(obj runtime.Object) (map[string]json.RawMessage, []byte, error) {
	text, err := json.Marshal(obj)
	if err != nil {
		return nil, nil, err
	}
	var fields map[string]json.RawMessage
	err = json.Unmarshal(text, &fields)
	return fields, text, err
}
