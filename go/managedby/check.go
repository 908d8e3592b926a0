package managedby

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// Status is the name of the status subresource.
const Status = "status"

// Change is a write by a client, with the objects as the client sends them. Like the API server, [Policy.Check] ignores the status in
// a write of the main resource, and all other fields in a write of the status.
type Change struct {
	// Operation is Create or Update.
	Operation admissionv1.Operation
	// SubResource is empty for the main resource, or [Status].
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

// CheckCreate checks the creation of a Job. It ignores the status, as the API server does.
func (p *Policy) CheckCreate(ctx context.Context, job *batchv1.Job) (Findings, error) {
	return p.Check(ctx, Change{Operation: admissionv1.Create, Kind: jobKind, Object: object(job)})
}

// CheckUpdate checks an update of a Job without its status.
func (p *Policy) CheckUpdate(ctx context.Context, old, new *batchv1.Job) (Findings, error) {
	return p.Check(ctx, Change{Operation: admissionv1.Update, Kind: jobKind, Object: object(new), OldObject: object(old)})
}

// CheckStatusUpdate checks an update of a Job's status from old to new. The API server returns the same errors for
// Status().Update(ctx, new), and for a patch with the same result.
func (p *Policy) CheckStatusUpdate(ctx context.Context, old, new *batchv1.Job) (Findings, error) {
	return p.Check(ctx, Change{
		Operation: admissionv1.Update, SubResource: Status, Kind: jobKind, Object: object(new), OldObject: object(old),
	})
}

// object converts a nil pointer to a nil interface.
func object(job *batchv1.Job) runtime.Object {
	if job == nil {
		return nil
	}
	return job
}

// Check checks a change of any kind that the policy supports, built in or declared in the settings. Other kinds are accepted without
// findings.
func (p *Policy) Check(ctx context.Context, change Change) (Findings, error) {
	if err := p.made(); err != nil {
		return Findings{}, err
	}
	request, err := p.request(change)
	if err != nil {
		return Findings{}, err
	}
	return p.CheckRequest(ctx, request)
}

// CheckRequest checks a request as the API server sends it to a webhook, for the releases of the policy. [Policy.Review] returns the
// verdict of a policy in a cluster.
func (p *Policy) CheckRequest(ctx context.Context, request *admissionv1.AdmissionRequest) (Findings, error) {
	if request == nil {
		return Findings{}, errors.New("managedby: CheckRequest of no request")
	}
	evaluated, err := p.evaluate(ctx, request, p.releases)
	if err != nil {
		return Findings{}, err
	}
	return evaluated.all(request), nil
}

// request converts the change to the request that the API server would send to a webhook.
func (p *Policy) request(change Change) (*admissionv1.AdmissionRequest, error) {
	if change.Object == nil {
		return nil, errors.New("managedby: a change without an object")
	}
	switch {
	case change.Operation == admissionv1.Create && change.OldObject == nil && change.SubResource == "":
	case change.Operation == admissionv1.Update && change.OldObject != nil && (change.SubResource == "" || change.SubResource == Status):
	default:
		return nil, fmt.Errorf("managedby: a change with operation %q, subresource %q and an old object: %t: it must be a %s without the two, or a %s with an old object",
			change.Operation, change.SubResource, change.OldObject != nil, admissionv1.Create, admissionv1.Update)
	}
	kind, err := p.kind(change)
	if err != nil {
		return nil, err
	}
	object, err := meta.Accessor(change.Object)
	if err != nil {
		return nil, fmt.Errorf("managedby: the object: %w", err)
	}
	request := &admissionv1.AdmissionRequest{
		Kind:        metav1.GroupVersionKind(kind),
		SubResource: change.SubResource,
		Name:        object.GetName(),
		Namespace:   object.GetNamespace(),
		Operation:   change.Operation,
		UserInfo:    p.user,
	}
	request.Object.Raw, request.OldObject.Raw, err = stored(change)
	return request, err
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
		scheme = jobs
	}
	kinds, _, err := scheme.ObjectKinds(change.Object)
	if err != nil {
		return schema.GroupVersionKind{}, fmt.Errorf(
			"managedby: which kind is a %T? Say it in Change.Kind or in the object's TypeMeta, or give WithScheme a scheme that knows it: %w", change.Object, err)
	}
	return kinds[0], nil
}

// jobs is the scheme of a policy without [WithScheme].
var jobs = func() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(batchv1.AddToScheme(scheme))
	return scheme
}()

// stored returns the JSON of both objects in the form that the API server sends to webhooks.
func stored(change Change) (object, old []byte, err error) {
	oldJob, wasJob := change.OldObject.(*batchv1.Job)
	if job, isJob := change.Object.(*batchv1.Job); isJob && (wasJob || change.OldObject == nil) {
		object, old, err = storedJobs(job, oldJob, change.SubResource)
	} else {
		object, old, err = storedObjects(change)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("managedby: cannot write the objects as JSON: %w", err)
	}
	return object, old, nil
}

func storedJobs(job, old *batchv1.Job, subResource string) (object, was []byte, err error) {
	is := *job
	if old == nil {
		is.Status = batchv1.JobStatus{}
		object, err = json.Marshal(&is)
		return object, nil, err
	}
	stored := *old
	if subResource == Status {
		// The template is equal in both, no rule reads it, and it is most of a Job.
		stored.Spec.Template = corev1.PodTemplateSpec{}
		is.Spec = stored.Spec
	} else {
		is.Status = old.Status
	}
	if object, err = json.Marshal(&is); err == nil {
		was, err = json.Marshal(&stored)
	}
	return object, was, err
}

// storedObjects is storedJobs for any kind.
func storedObjects(change Change) (object, old []byte, err error) {
	var new, was map[string]json.RawMessage
	if new, _, err = members(change.Object); err != nil {
		return nil, nil, err
	}
	if change.OldObject == nil {
		delete(new, Status)
		object, err = json.Marshal(new)
		return object, nil, err
	}
	if was, old, err = members(change.OldObject); err != nil {
		return nil, nil, err
	}
	for name := range new {
		if name != "metadata" && (name == Status) != (change.SubResource == Status) {
			delete(new, name)
		}
	}
	for name, value := range was {
		if name != "metadata" && (name == Status) != (change.SubResource == Status) {
			new[name] = value
		}
	}
	object, err = json.Marshal(new)
	return object, old, err
}

func members(of runtime.Object) (map[string]json.RawMessage, []byte, error) {
	text, err := json.Marshal(of)
	if err != nil {
		return nil, nil, err
	}
	var members map[string]json.RawMessage
	err = json.Unmarshal(text, &members)
	return members, text, err
}

// raw returns the JSON of an object in a request.
func raw(extension runtime.RawExtension) ([]byte, error) {
	if extension.Raw != nil || extension.Object == nil {
		return extension.Raw, nil
	}
	text, err := json.Marshal(extension.Object)
	if err != nil {
		return nil, fmt.Errorf("managedby: cannot write an object of the request as JSON: %w", err)
	}
	return text, nil
}
